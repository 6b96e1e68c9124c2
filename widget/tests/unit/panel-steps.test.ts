/** The calls of tools in the panel: their places, outcomes, results and requests. */

import { expect, test, vi } from "vitest";
import type { Call, Message, Step } from "../../panel/types.ts";

vi.stubGlobal("navigator", { language: "en" });
const { messagesOf } = await import("../../panel/diff.ts");
const { caseOf } = await import("../../panel/correction.ts");
const { leftOut } = await import("../../panel/why.ts");
const { callOf, outcomeOf, partsOf, resultOf } = await import("../../panel/steps.ts");

const STEP: Step = {
  ...{ id: "s0c0", name: "order_status", arguments: "{}", step: 0, at: 0, state: "done" },
  ...{ result: "", ms: 12, title: "Looking", card: "", expires: 0 },
};
const CARD: Step = { ...STEP, name: "cancel_order", state: "asked", card: "Cancel it?" };

const said = (id: number, more: Partial<Message> = {}): Message => ({
  ...{ id, role: "user", content: "x", status: "ok", created_at: 1 },
  ...more,
});

const CALL: Call = {
  ...{ message_id: 1, number: 1, created_at: 1, finish_reason: "tool_calls", ttft: 1 },
  ...{ stream_complete: true, duration: 1, prompt_tokens: 1, completion_tokens: 1 },
  ...{ request: null, response: null, meta: {}, error: null },
};

test("calls stand at their places in the answer (A15)", () => {
  const [first, second, third] = [STEP, { ...STEP, at: 9 }, { ...STEP, at: 9, id: "s1c1" }];
  expect(partsOf("Let me ๐😀\n\nIt is sent.", [first, second, third])).toEqual([
    { steps: [first], text: "Let me ๐😀" },
    { steps: [second, third], text: "It is sent." },
  ]);
  expect(partsOf("Looking.\n\nDone.", [second])).toEqual([
    { steps: [], text: "Looking." },
    { steps: [second], text: "Done." },
  ]);
});

test("a call without a text, and a place beyond a shortened answer", () => {
  const late = { ...STEP, at: 99 };
  expect(partsOf("", [STEP])).toEqual([{ steps: [STEP], text: "" }]);
  expect(partsOf("", [late])).toEqual([{ steps: [late], text: "" }]);
  expect(partsOf("ab", [late])).toEqual([
    { steps: [], text: "ab" },
    { steps: [late], text: "" },
  ]);
});

const click = (state: string) => [
  said(1),
  said(3, { client_message_id: "approval-1-0f", steps: [{ ...CARD, state }] }),
];
const later = Date.now() / 1000 + 60;

test.each<[string, Step, Message[], string]>([
  ["done", STEP, [said(1)], "done"],
  ["that waits", { ...CARD, expires: later }, [said(1)], "asked"],
  ["without a click in time", CARD, [said(1)], "expired"],
  ["that was approved", CARD, click("done"), "approved"],
  [
    "whose click is being answered",
    CARD,
    [said(1), { ...click("")[1], steps: [] } as Message],
    "approved",
  ],
  ["that was declined", CARD, click("denied"), "denied"],
  ["with another message", { ...CARD, expires: later }, [said(1), said(3)], "passed"],
  ["of another turn", CARD, [said(1), said(3, { client_message_id: "approval-11-0f" })], "passed"],
])("the outcome of a card %s (A15)", (_, step, messages, outcome) => {
  expect(outcomeOf(said(1), step, messages)).toBe(outcome);
});

const asking = (content: unknown, id = "s0c0") =>
  JSON.stringify({ messages: [null, { role: "tool", tool_call_id: id, content }] });

test("a shortened result is whole where a later request was stored (A15)", () => {
  const step = { ...STEP, result: "abc […]" };
  const found = (...requests: (string | null)[]) =>
    resultOf(
      step,
      requests.map((request) => ({ ...CALL, request })),
    );
  expect(found(null, asking("abcdef"))).toBe("abcdef");
  expect(found(asking("abcdef"), asking("abcdef", "s1c0"), "{", "[]", "null")).toBe("abcdef");
  // The same id in an earlier turn of the chat.
  expect(found(asking("another"), asking({}))).toBe(step.result);
  expect(resultOf({ ...step, result: "whole" }, [{ ...CALL, request: asking("no") }])).toBe(
    "whole",
  );
});

test("a call leads to the request that asked for it, in the last try", () => {
  const again = { meta: { again: 1 } };
  const calls: Call[] = [
    CALL,
    { ...CALL, ...again, number: 101 },
    { ...CALL, number: 102, meta: { again: 1, purpose: "search" } },
    { ...CALL, ...again, number: 103, error: { code: "context_length_exceeded" } },
    { ...CALL, ...again, number: 104 },
  ];
  const approved = { ...CARD, state: "done", step: 0 };
  const [first, second] = [
    { ...STEP, step: 1 },
    { ...STEP, step: 2 },
  ];
  const steps = [approved, first, second];
  expect(steps.map((one) => callOf(one, steps, calls)?.number)).toEqual([undefined, 101, 104]);
  expect(callOf(STEP, [STEP], [])).toBeUndefined();
});

test("the difference of two requests has their calls of tools", () => {
  const calls = [{ id: "s0c0" }];
  const messages = [
    { role: "assistant", content: null, tool_calls: calls },
    { role: "assistant", content: "Let me look.", tool_calls: calls },
    { role: "tool", content: "sent" },
  ];
  expect(messagesOf({ messages }).map(({ content }) => content)).toEqual([
    '[{"id":"s0c0"}]',
    'Let me look.\n[{"id":"s0c0"}]',
    "sent",
  ]);
});

test("positions do not identify messages in a prompt with results of tools", () => {
  const trimmed = {
    ...{ kept: 2, dropped: 1, reasons: { budget: 1 }, tokens: 1, limit: 1, over_budget: false },
    ...{ fallback: "", left_out: [[0, 1, "budget"] as const] },
  };
  const call = { ...CALL, message_id: 3, meta: { trimmed, history: { read: 2, told: 2 } } };
  const messages = [said(1), said(2, { role: "assistant" }), said(3)];
  expect(leftOut(call, messages)).toEqual([{ ids: [1], reason: "budget" }]);
  expect(leftOut(call, [said(1, { steps: [STEP] }), ...messages.slice(1)])).toBeUndefined();
});

test("a click is no question of a case for kefu test", () => {
  const answer = (id: number) => said(id, { role: "assistant", reply_to: id - 1 });
  const messages = [...click("done").flatMap((one) => [one, answer(one.id + 1)]), said(5)];
  const session = { id: "a", title: "", config_id: "", created_at: 1, updated_at: 1 };
  const made = caseOf({ session, messages, calls: [] }, said(5, { content: "And 6?" }), "Yes.");
  expect(made.turns.map(({ ask }) => ask)).toEqual(["x", "And 6?"]);
});
