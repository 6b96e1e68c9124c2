/** W23: a tool of the page gets an approved call, and its result goes on with the answer. */

import { expect, test, vi } from "vitest";
import { acting } from "../../src/features/page-tools/acting.ts";
import type { PageTools } from "../../src/features/page-tools/tool.ts";
import type { Ask } from "../../src/open/transport/transport.ts";

const API = new URL("https://chat.example.com/api/chat");
const CLICK = {
  id: "approval-1-ab",
  question: "✓ Add size M?",
  answer: "",
  ending: "open",
} as const;
const STEP = 'data: {"object":"kefu.step","step":{"tool":"add","arguments":{"size":"M"}}}\n\n';
const UNSURE = 'data: {"choices":[{"delta":{"content":"not certain"}}]}\n\ndata: [DONE]\n\n';
const ADDED = 'data: {"choices":[{"delta":{"content":"It is in your cart."}}]}\n\ndata: [DONE]\n\n';
const ADD = { description: "Put it into the cart.", parameters: { size: { enum: ["M"] } } };

/** A service that answers a click with a call, and the same click with a result with text. */
function service(...refusals: number[]) {
  const bodies: { page_tools?: unknown; approval?: { result?: unknown } }[] = [];
  const ask: Ask = async (_url, init) => {
    const body = JSON.parse(`${init.body}`);
    bodies.push(body);
    if (!body.approval?.result) return new Response(STEP + UNSURE);
    const status = refusals.shift();
    return status ? new Response("", { status }) : new Response(ADDED);
  };
  return { bodies, ask };
}

const click = (ask: Ask, tools: unknown) =>
  acting(
    ask,
    API,
    () => tools as PageTools,
    CLICK,
  )(API, {
    method: "POST",
    body: '{"session_id":"s","approval":{"id":"approval-1-ab","approved":true}}',
  });

test("an approved call is carried out once, and its result is sent with the same click", async () => {
  const { bodies, ask } = service();
  const run = vi.fn(async ({ size }) => ({ items: 1, size }));
  const response = await click(ask, { add: { ...ADD, run } });
  expect(await response.text()).toBe(STEP + ADDED);
  expect(run.mock.calls).toEqual([[{ size: "M" }]]);
  expect(bodies.map(({ approval }) => approval?.result)).toEqual([
    undefined,
    { text: '{"items":1,"size":"M"}', state: "done" },
  ]);
  expect(bodies[0]?.page_tools).toEqual([{ name: "add", ...ADD }]);
});

test("a tool that fails is unsure, and one that is gone has failed", async () => {
  for (const [tools, state] of [
    [{ add: { ...ADD, run: () => Promise.reject(new Error("no stock")) } }, "unsure"],
    [{ other: { ...ADD, run: () => "x" } }, "failed"],
  ]) {
    const { bodies, ask } = service();
    await (await click(ask, tools)).text();
    expect(bodies[1]?.approval?.result).toMatchObject({ state });
  }
});

test("a result that the service does not take leaves the call unsure", async () => {
  vi.useFakeTimers();
  const { bodies, ask } = service(503, 503, 503, 503);
  const text = (await click(ask, { add: { ...ADD, run: () => "done" } })).text();
  await vi.runAllTimersAsync();
  expect(await text).toContain("not certain");
  expect(bodies).toHaveLength(5);
  vi.useRealTimers();
});

test("the chat hears of a slow tool while it runs", async () => {
  vi.useFakeTimers();
  const { ask } = service();
  const run = () => new Promise((done) => setTimeout(done, 5_000, "late"));
  const text = (await click(ask, { add: { ...ADD, run } })).text();
  await vi.runAllTimersAsync();
  expect(((await text).match(/: the page is at work/g) ?? []).length).toBe(2);
  expect(await text).toContain("It is in your cart.");
  vi.useRealTimers();
});

test("a message without tools is sent as it is; wrong tools are named in the console", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const { bodies, ask } = service();
  const init = { method: "POST", body: '{"message":"hello"}' };
  for (const tools of [undefined, {}, { "no name": ADD, add: { run: () => 1 }, more: 7 }])
    await acting(ask, API, () => tools as PageTools)(API, init);
  expect(bodies).toEqual([{ message: "hello" }, { message: "hello" }, { message: "hello" }]);
  expect(warn.mock.calls.map(([text]) => text.split(":")[2])).toHaveLength(3);
  warn.mockRestore();
});
