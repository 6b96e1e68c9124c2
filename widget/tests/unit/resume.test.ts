/** Taking up an answer: which requests are sent, and what the conversation receives. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { attemptsOf } from "../../src/features/resume/attempts.ts";
import type { Arrival } from "../../src/open/transport/sse.ts";
import type { Transport } from "../../src/open/transport/transport.ts";
import type { Turn } from "../../src/open/turn.ts";
import { chunk, DONE, finish } from "../scripted-service.ts";

type Reply = Response | "no response";

const TURN: Turn = { id: "second", first: "first", question: "a", answer: "", ending: "open" };

beforeEach(() => {
  vi.useFakeTimers();
  const page = new EventTarget();
  for (const name of ["addEventListener", "removeEventListener", "dispatchEvent"] as const)
    vi.stubGlobal(name, page[name].bind(page));
  vi.stubGlobal("navigator", { onLine: true });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function streamed(...texts: readonly string[]): Response {
  return new Response(texts.join(""), { headers: { "Content-Type": "text/event-stream" } });
}

function refused(status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json({ error: { code: "session_busy" } }, { status, headers });
}

const FINAL = { "x-should-retry": "false" };
const PORTAL = new Response("<title>Sign in</title>", { headers: { "Content-Type": "text/html" } });

/** Sets whether there is a network, as browsers do. */
function setOnline(isOnline: boolean): void {
  vi.stubGlobal("navigator", { onLine: isOnline });
  globalThis.dispatchEvent(new Event(isOnline ? "online" : "offline"));
}

/** A service with these replies to the requests of a chat, the last one for all that follow. */
function service(...replies: readonly Reply[]) {
  const requests: { rest: string; body: unknown }[] = [];
  const times: number[] = [];
  let resumed: Pick<Transport, "send"> | undefined;
  const shown: number[] = [];
  let isLineShown = false;
  const acts = {
    request: async (rest: string, init: RequestInit = {}) => {
      requests.push({ rest, body: JSON.parse(`${init.body}`) });
      times.push(Date.now());
      const reply = replies[Math.min(requests.length, replies.length) - 1];
      return reply instanceof Response ? reply.clone() : undefined;
    },
    resume: (from: Pick<Transport, "send">) => {
      resumed = from;
    },
  };
  const begin = attemptsOf(acts, () => true, {
    show: () => {
      if (!isLineShown) shown.push(Date.now());
      isLineShown = true;
    },
    remove: () => {
      isLineShown = false;
    },
  });
  return {
    requests,
    /** When each request was sent. */
    times,
    begin,
    /** When the line about the lost connection was shown. */
    shown,
    /** What the conversation receives; undefined if the answer is not taken up. */
    async take(
      isRestored = true,
      meanwhile = async () => {},
      turn = TURN,
    ): Promise<readonly Arrival[] | undefined> {
      resumed = undefined;
      begin(isRestored);
      await vi.advanceTimersByTimeAsync(1_000);
      const from = resumed as Pick<Transport, "send"> | undefined;
      const reply = await from?.send([turn], new AbortController().signal);
      if (!reply?.ok) return undefined;
      const all: Arrival[] = [];
      const reading = (async () => {
        for await (const arrivals of reply.batches) all.push(...arrivals);
      })();
      await meanwhile();
      await vi.advanceTimersByTimeAsync(600_000);
      await reading;
      return all;
    },
  };
}

const LOST = { kind: "error", code: "disconnected" };

test("the answer is taken up by the ids of its message, in one request (W5)", async () => {
  const { take, requests } = service(streamed(chunk("one "), chunk("two"), finish(), DONE));
  expect(await take()).toEqual([
    { kind: "text", text: "one " },
    { kind: "text", text: "two" },
    { kind: "finish", reason: "stop" },
    { kind: "done" },
  ]);
  const body = { client_message_id: "second", again: "first", sources: true, steps: true };
  expect(requests).toEqual([{ rest: "/answer", body }]);
});

test("an answer that another process makes is asked for until it is stored", async () => {
  const done = streamed(chunk("all"), finish(), DONE);
  const { take, requests } = service(refused(409), refused(429), "no response", done);
  expect((await take())?.map(({ kind }) => kind)).toEqual(["text", "finish", "done"]);
  expect(requests).toHaveLength(4);
});

for (const [what, reply, count] of [
  ["has failed", refused(503, FINAL), 1],
  ["belongs to a chat that is gone", refused(404), 1],
  ["is at a service that does not respond", "no response", 15],
] as const) {
  test(`an answer that ${what} is lost after ${count} requests, and is not taken up by itself again`, async () => {
    const { take, requests } = service(reply);
    expect(await take()).toEqual([LOST]);
    expect(requests).toHaveLength(count);
    // The end of that attempt is a lost connection, too.
    expect(await take()).toBeUndefined();
    expect(await take()).toEqual([LOST]);
  });
}

const WHOLE = streamed(chunk("whole"), finish(), DONE);

for (const [what, reply] of [
  ["refused connections, as in a deploy", "no response"],
  ["the page of a captive portal", PORTAL],
  ["errors of a proxy", refused(502)],
] as const) {
  test(`20 seconds of ${what} do not end the attempt (M3)`, async () => {
    const { take, times } = service(...Array(6).fill(reply), WHOLE);
    expect((await take(false))?.map(({ kind }) => kind)).toEqual(["text", "finish", "done"]);
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(20_000);
  });
}

test("without a network nothing is sent or counted; the attempt goes on when it is back (M3)", async () => {
  const { take, requests, shown } = service(WHOLE);
  setOnline(false);
  const all = await take(false, async () => {
    await vi.advanceTimersByTimeAsync(300_000);
    expect(requests).toEqual([]);
    // The header says that the visitor is offline, and a second text would contradict it.
    expect(shown).toEqual([]);
    setOnline(true);
  });
  expect(all?.map(({ kind }) => kind)).toEqual(["text", "finish", "done"]);
  expect(requests).toHaveLength(1);
});

test("the next request is not earlier than Retry-After (M4)", async () => {
  const { take, times } = service(refused(503, { "Retry-After": "9" }), WHOLE);
  expect(await take()).toHaveLength(3);
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(9_000);
});

test("after a service that did not respond a later attempt is worth it, after a refusal it is not (M3)", async () => {
  for (const [reply, begun] of [
    ["no response", "later"],
    [refused(503, FINAL), "never"],
  ] as const) {
    const { take, begin } = service(reply);
    await take();
    expect(begin(false)).toBe(begun);
  }
});

test("an answer that is cut off again is taken up while more of it arrives (W5)", async () => {
  const { take } = service(
    streamed(chunk("one")),
    streamed(chunk("one two")),
    streamed(chunk("one two")),
  );
  expect(await take()).toEqual([{ kind: "text", text: "one" }]);
  expect(await take()).toEqual([{ kind: "text", text: "one two" }]);
  expect(await take()).toEqual([{ kind: "text", text: "one two" }]);
  expect(await take()).toBeUndefined();
});

test("a slow answer says that the connection was lost, but not after a reload (W5)", async () => {
  const busy = [refused(409), streamed(chunk("whole"), finish(), DONE)];
  const lost = service(...busy);
  await lost.take(false);
  expect(lost.shown).toHaveLength(1);
  const restored = service(...busy);
  await restored.take(true);
  expect(restored.shown).toEqual([]);
  const quick = service(streamed(chunk("whole"), finish(), DONE));
  await quick.take(false);
  expect(quick.shown).toEqual([]);
});
