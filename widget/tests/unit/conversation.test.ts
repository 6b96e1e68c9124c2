/** The conversation over real HTTP: its requests, its retries and the state of its turns. */

import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Audience, Conversation } from "../../src/open/conversation.ts";
import { isBusy, type State } from "../../src/open/machine.ts";
import { StatelessTransport } from "../../src/open/transport/stateless.ts";
import type { Turn } from "../../src/open/turn.ts";
import {
  answer,
  chunk,
  DONE,
  errorEvent,
  finish,
  gate,
  PING,
  type Play,
  refusal,
  ScriptedService,
  step,
} from "../scripted-service.ts";

let service: ScriptedService;

beforeAll(async () => {
  service = await ScriptedService.start();
  // The first request of a process is slow.
  await fetch(new URL("/health", service.url));
});

afterAll(async () => {
  await service.stop();
});

/** Records the calls of a conversation, and lets a test wait for a state. */
class Watch implements Audience {
  readonly states: State[] = [];
  readonly waits: string[] = [];
  /** The events about tools, after each of them. */
  readonly uses: (readonly unknown[])[] = [];
  shown = "";
  turn: Turn | undefined;
  #waiting: { wanted: (state: State) => boolean; resolve: () => void } | undefined;

  asked(turn: Turn): void {
    this.turn = turn;
    this.shown = "";
  }
  restarted(): void {
    // The shown text stays until the first text of the new attempt.
  }
  told(_turn: Turn, text: string, isFirst: boolean): void {
    this.shown = isFirst ? text : this.shown + text;
  }
  changed(): void {
    this.uses.push([...(this.turn?.events ?? [])]);
  }
  moved(state: State, _turn: Turn, waiting: string | undefined): void {
    if (this.states.at(-1) !== state) this.states.push(state);
    if (waiting !== undefined) this.waits.push(waiting);
    if (this.#waiting?.wanted(state)) this.#waiting.resolve();
  }
  until(wanted: (state: State) => boolean): Promise<void> {
    const last = this.states.at(-1);
    if (last !== undefined && wanted(last)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting = { wanted, resolve };
    });
  }
}

interface Trial {
  readonly watch: Watch;
  readonly conversation: Conversation;
  /** Sends a message and waits for the end of its answer. */
  ask(text?: string): Promise<Turn>;
}

interface Settings {
  readonly retries?: number;
  readonly firstByteMs?: number;
  readonly stallMs?: number;
  /** Its own service, for a test that runs beside others. */
  readonly service?: ScriptedService;
  readonly isOnline?: () => boolean;
  readonly before?: readonly Turn[];
  /** Whether the service stores the chat. */
  readonly isStored?: boolean;
  /** What the transport waits for before each request. */
  readonly ready?: () => Promise<void>;
}

/** A limit that no response exceeds, even on a busy machine. */
const GENEROUS = 60_000;

/** A limit for tests in which the service is silent. Their other responses must stay below it. */
const SHORT = 1_000;

function trial(settings: Settings = {}): Trial {
  const watch = new Watch();
  const chat = { request: async () => undefined, forget: () => {} };
  const stateless = new StatelessTransport(new URL((settings.service ?? service).url));
  const transport = Object.assign(stateless, settings.ready && { ready: settings.ready });
  const conversation = new Conversation(
    {
      transport: settings.isStored ? Object.assign(transport, { chat }) : transport,
      retries: settings.retries ?? 3,
      firstByteMs: settings.firstByteMs ?? GENEROUS,
      stallMs: settings.stallMs ?? GENEROUS,
      isOnline: settings.isOnline ?? (() => true),
      chance: () => 0,
      newId: () => crypto.randomUUID(),
    },
    watch,
  );
  conversation.restore(settings.before ?? []);
  return {
    watch,
    conversation,
    async ask(text = "hello") {
      expect(conversation.send(text)).toBe(true);
      await watch.until((state) => !isBusy(state));
      if (watch.turn === undefined) throw new Error("nothing was asked");
      return watch.turn;
    },
  };
}

const SILENT: Play = { acts: ["silence"] };
const FULL = refusal(503, "upstream_service_unavailable", { "Retry-After": "0" });
const TOO_BUSY = refusal(429, "rate_limit_exceeded", { "Retry-After": "0" });

test("an answer with finish_reason and [DONE] is complete, after one request", async () => {
  service.script(answer(["Hel", "lo"]));
  const { ask, watch } = trial();
  const turn = await ask("  hi  ");
  expect([turn.answer, turn.ending, watch.shown]).toEqual(["Hello", "whole", "Hello"]);
  expect(watch.states).toEqual(["connecting", "awaiting-first-byte", "streaming", "idle"]);
  expect(service.received).toHaveLength(1);
  const { body, headers } = service.received[0] ?? expect.fail("no request");
  expect(body).toEqual({
    messages: [{ role: "user", content: "hi" }],
    client_message_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    sources: true,
    steps: true,
  });
  expect(headers["content-type"]).toBe("application/json");
});

test("the steps of all attempts are kept with the answer, and a new answer begins without them (A14)", async () => {
  const [running, done] = ["input-available", "output-available"].map((state) =>
    step(state, "Looking"),
  );
  service.script(
    { acts: [{ send: `${running}` }, { send: errorEvent("gateway_timeout") }] },
    { acts: [{ send: `${running}${done}` }, { send: chunk("Here.") + finish() + DONE }] },
    answer(["Without."]),
  );
  const { ask, watch, conversation } = trial({ retries: 3 });
  const turn = await ask();
  expect(watch.uses.map((events) => events.length)).toEqual([1, 2, 3]);
  expect([turn.answer, turn.ending]).toEqual(["Here.", "whole"]);
  conversation.again();
  await watch.until((state) => state === "idle" && turn.answer === "Without.");
  expect(turn.events).toEqual([]);
});

test("a click is a message with the id of its card (A10)", async () => {
  service.script(answer(["Well."]));
  const { conversation, watch } = trial();
  expect(conversation.send("✓ Cancel order 5?", "approval-3-0f")).toBe(true);
  expect(conversation.send("✓ Cancel order 5?", "approval-3-0f")).toBe(false);
  await watch.until((state) => state === "idle");
  expect(conversation.turns.map(({ id, question }) => [id, question])).toEqual([
    ["approval-3-0f", "✓ Cancel order 5?"],
  ]);
});

test("a second question is sent with the first and its answer, and has its own id", async () => {
  service.script(answer(["one"]), answer(["two"]));
  const { ask } = trial();
  await ask("first");
  await ask("second");
  expect(service.received[1]?.body.messages).toEqual([
    { role: "user", content: "first" },
    { role: "assistant", content: "one" },
    { role: "user", content: "second" },
  ]);
  const ids = service.received.map(({ body }) => body.client_message_id);
  expect(new Set(ids).size).toBe(2);
});

/** Name, plays, data-retry -> number of requests, ending, text (W4 to W6). */
const ENDINGS: readonly (readonly [string, readonly Play[], number, number, string, string])[] = [
  ["no first byte twice", [SILENT, SILENT], 3, 2, "gateway_timeout", ""],
  ["no first byte, no retries", [SILENT], 0, 1, "gateway_timeout", ""],
  ["no first byte once", [SILENT, answer(["ok"])], 3, 2, "whole", "ok"],
  ["504 twice", Array(2).fill(refusal(504, "gateway_timeout")), 5, 2, "gateway_timeout", ""],
  ["400", [refusal(400, "invalid_request")], 5, 1, "invalid_request", ""],
  ["503", [refusal(503, "upstream_service_unavailable")], 5, 1, "upstream_service_unavailable", ""],
  ["503 with Retry-After once", [FULL, answer(["ok"])], 3, 2, "whole", "ok"],
  ["503 with Retry-After, 1", [FULL, FULL], 1, 2, "upstream_service_unavailable", ""],
  ["429 for ever, 3", Array(9).fill(TOO_BUSY), 3, 4, "rate_limit_exceeded", ""],
  ["429 for ever, 0", Array(9).fill(TOO_BUSY), 0, 1, "rate_limit_exceeded", ""],
  ["429 once", [TOO_BUSY, answer(["ok"])], 3, 2, "whole", "ok"],
  ["429, silence, 429", [TOO_BUSY, SILENT, TOO_BUSY, SILENT], 3, 4, "gateway_timeout", ""],
  ["silence, 429, at most 1", [SILENT, TOO_BUSY], 1, 2, "rate_limit_exceeded", ""],
  ["an empty stream", [{ acts: [] }], 3, 1, "cut", ""],
  [
    "HTML with 200",
    [{ headers: { "Content-Type": "text/html" }, acts: [{ send: "<p>" }] }],
    3,
    1,
    "upstream_service_unavailable",
    "",
  ],
  ["an end without [DONE]", [{ acts: [{ send: chunk("a") + finish() }] }], 3, 1, "cut", "a"],
  ["[DONE] without finish_reason", [{ acts: [{ send: chunk("a") + DONE }] }], 3, 1, "cut", "a"],
  ["an end in the middle", [{ acts: [{ send: chunk("a") }] }], 3, 1, "cut", "a"],
  ["silence after text", [{ acts: [{ send: chunk("a") }, "silence"] }], 3, 1, "disconnected", "a"],
  [
    "a reset after text",
    [{ acts: [{ send: chunk("a") }, { wait: 300 }, "reset"] }],
    3,
    1,
    "disconnected",
    "a",
  ],
  ["a reset before headers were read", [{ acts: ["reset"] }], 3, 1, "unreachable", ""],
  [
    "503 after text",
    [{ acts: [{ send: chunk("a") + errorEvent("upstream_service_unavailable") }] }],
    3,
    1,
    "upstream_service_unavailable",
    "a",
  ],
  [
    "504 after text",
    [{ acts: [{ send: chunk("a") + errorEvent("gateway_timeout") }] }],
    3,
    1,
    "gateway_timeout",
    "a",
  ],
  [
    "504 after pings",
    [{ acts: [{ send: PING + errorEvent("gateway_timeout") }] }, answer(["ok"])],
    3,
    2,
    "whole",
    "ok",
  ],
  [
    "data after [DONE]",
    [{ acts: [{ send: chunk("a") + finish() + DONE + chunk("b") }, "silence"] }],
    3,
    1,
    "whole",
    "a",
  ],
];

for (const [name, plays, retries, requests, ending, text] of ENDINGS) {
  const title = `${name}, data-retry ${retries} -> ${ending} after ${requests} request(s)`;
  // Side by side, because some of them wait for the ends of time limits.
  test.concurrent(`${title} (W4, W5, W6)`, async ({ onTestFinished }) => {
    const service = await ScriptedService.start();
    onTestFinished(() => service.stop());
    service.script(...plays);
    const firstByteMs = plays.includes(SILENT) ? SHORT : GENEROUS;
    const stallMs = ending === "disconnected" ? SHORT : GENEROUS;
    const { ask, watch } = trial({ retries, firstByteMs, stallMs, service });
    const turn = await ask();
    expect([turn.ending, turn.answer, watch.shown]).toEqual([ending, text, text]);
    await pause(60);
    expect(service.received).toHaveLength(requests);
    const ids = service.received.map(({ body }) => body.client_message_id);
    expect(new Set(ids)).toEqual(new Set([turn.id]));
  });
}

test("a comment ends the wait for a first byte, and keeps a silent stream alive (W3, W4)", async () => {
  const pings = Array.from({ length: 8 }, () => [{ wait: 300 }, { send: PING }]).flat();
  service.script({ acts: [...pings, { send: chunk("late") + finish() + DONE }] });
  const { ask } = trial({ firstByteMs: 2 * SHORT, stallMs: 2 * SHORT });
  const turn = await ask();
  expect([turn.ending, turn.answer]).toEqual(["whole", "late"]);
  expect(service.received).toHaveLength(1);
});

test("after a 429 the widget waits as long as Retry-After, and shows that it waits (W6)", async () => {
  service.script(refusal(429, "rate_limit_exceeded", { "Retry-After": "1" }), answer(["ok"]));
  const { ask, watch } = trial();
  await ask();
  const [first, second] = service.received;
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(990);
  expect(watch.waits).toEqual(["rate_limit_exceeded"]);
});

test("a question is sent before the page is drawn again, in the task of the Enter key (W3)", async () => {
  const { conversation, watch } = trial();
  service.script(answer(["Yes."]));
  conversation.send("Do you ship?");
  expect(watch.states.at(-1)).toBe("awaiting-first-byte");
  await watch.until((state) => !isBusy(state));
  expect(service.received.length).toBe(1);
});

test("while a question waits for the bot check, the check runs once (W3, T17)", async () => {
  let checks = 0;
  let pass: () => void = () => {};
  const { conversation, watch } = trial({
    ready: () => {
      checks += 1;
      return new Promise((resolve) => {
        pass = resolve;
      });
    },
  });
  service.script(answer(["Yes."]));
  conversation.send("Do you ship?");
  // Longer than the shortest timer.
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(watch.states.at(-1)).toBe("connecting");
  pass();
  await watch.until((state) => !isBusy(state));
  expect([checks, service.received.length]).toEqual([1, 1]);
});

test("after a 429 without Retry-After each back-off is twice as long (W6)", async () => {
  const busy = refusal(429, "rate_limit_exceeded");
  service.script(busy, busy, answer(["ok"]));
  await trial().ask();
  const [a, b, c] = service.received.map(({ at }) => at);
  expect((b ?? 0) - (a ?? 0)).toBeGreaterThanOrEqual(495);
  expect((c ?? 0) - (b ?? 0)).toBeGreaterThanOrEqual(995);
}, 10_000);

test("a silent attempt is aborted before the next one is sent (W4)", async () => {
  service.script(SILENT, answer(["ok"]));
  await trial({ firstByteMs: SHORT }).ask();
  await eventually(() => expect(service.received[0]?.isAborted).toBe(true));
  expect(service.cancelled).toEqual([]);
});

test("with pictures the first byte may take longer, because they are uploaded first (W4, W21)", async () => {
  const late: Play = { acts: [{ wait: 2 * SHORT }, { send: chunk("ok") + finish() + DONE }] };
  for (const [images, requests] of [
    [[{}], 1],
    [undefined, 2],
  ] as const) {
    service.script(late, answer(["ok"]));
    const turn: Turn = { id: "1", question: "a", answer: "", ending: "disconnected", images };
    const { conversation, watch } = trial({ firstByteMs: SHORT, before: [turn] });
    conversation.retry();
    await watch.until((state) => state === "idle");
    expect(service.received).toHaveLength(requests);
  }
});

test("a retry sends the question with the same id and drops the partial answer (W5)", async () => {
  service.script({ acts: [{ send: chunk("half") }] }, answer(["whole"]));
  const { ask, conversation, watch } = trial();
  await ask("why");
  conversation.retry();
  await watch.until((state) => state === "idle");
  expect([watch.turn?.answer, watch.shown]).toEqual(["whole", "whole"]);
  const [first, second] = service.received.map(({ body }) => body);
  expect(second).toEqual(first);
});

test("a new answer is requested with a new id; the old answer stays until the new one begins (W8)", async () => {
  const held = gate();
  service.script(answer(["old"]), {
    acts: [{ send: PING }, held, { send: chunk("new") + finish() + DONE }],
  });
  const { ask, conversation, watch } = trial();
  const turn = await ask("why");
  const { id } = turn;
  turn.rating = "up";
  conversation.again();
  await watch.until((state) => state === "streaming");
  expect([turn.answer, watch.shown, turn.ending, turn.rating]).toEqual([
    "old",
    "old",
    "open",
    "up",
  ]);
  held.open();
  await watch.until((state) => state === "idle");
  expect([turn.answer, watch.shown, turn.ending, turn.rating]).toEqual([
    "new",
    "new",
    "whole",
    undefined,
  ]);
  expect(conversation.turns).toEqual([turn]);
  const [first, second] = service.received.map(({ body }) => body);
  expect(second?.messages).toEqual(first?.messages);
  expect([first?.client_message_id, second?.client_message_id]).toEqual([id, turn.id]);
  expect(turn.id).not.toBe(id);
});

test("a new answer that is stopped before it begins leaves the old one unchanged (W8)", async () => {
  service.script(answer(["old"]), { acts: [{ send: PING }, "silence"] });
  const { ask, conversation, watch } = trial();
  const turn = await ask("why");
  const before = { ...turn };
  conversation.again();
  const { id } = turn;
  await watch.until((state) => state === "streaming");
  conversation.stop();
  expect(turn).toEqual({ ...before, first: before.id });
  await eventually(() => expect(service.cancelled).toEqual([id]));
});

test("a new answer that is stopped keeps the text that arrived (W7, W8)", async () => {
  service.script(answer(["old"]), { acts: [{ send: chunk("ne") }, "silence"] });
  const { ask, conversation, watch } = trial();
  const turn = await ask("why");
  conversation.again();
  await eventually(() => expect(watch.shown).toBe("ne"));
  conversation.stop();
  expect([turn.answer, turn.ending]).toEqual(["ne", "stopped"]);
});

test("a new answer that fails leaves the old one on the page, and a retry keeps its id (W5, W8)", async () => {
  service.script(
    answer(["old"]),
    refusal(503, "upstream_service_unavailable"),
    refusal(503, "upstream_service_unavailable"),
    answer(["new"]),
  );
  const { ask, conversation, watch } = trial();
  const turn = await ask("why");
  conversation.again();
  for (let left = 2; left > 0; left -= 1) {
    await watch.until((state) => state === "failed");
    expect([turn.answer, watch.shown, turn.ending]).toEqual([
      "old",
      "old",
      "upstream_service_unavailable",
    ]);
    conversation.retry();
  }
  await watch.until((state) => state === "idle");
  expect([turn.answer, watch.shown, turn.ending]).toEqual(["new", "new", "whole"]);
  const ids = service.received.map(({ body }) => body.client_message_id);
  expect(new Set(ids.slice(1))).toEqual(new Set([turn.id]));
  expect(ids[0]).not.toBe(turn.id);
});

test("no new answer is requested during an answer, after a failure, or without a question (W8)", async () => {
  service.script({ acts: [{ send: chunk("a") }, { wait: 60 }] });
  const { conversation, watch } = trial();
  conversation.again();
  conversation.send("why");
  conversation.again();
  await watch.until((state) => state === "failed");
  conversation.again();
  await pause(60);
  expect(service.received).toHaveLength(1);
});

test("after a failure the next question is sent with the previous one (W5)", async () => {
  service.script(refusal(503, "upstream_service_unavailable"), answer(["ok"]));
  const { ask } = trial();
  await ask("first");
  await ask("second");
  expect(service.received[1]?.body.messages.map(({ content }) => content)).toEqual([
    "first",
    "second",
  ]);
});

for (const isStored of [false, true]) {
  const what = isStored ? "goes on at the service if the chat is stored" : "is cancelled otherwise";
  test(`an answer that is left ${what}, and Stop always cancels it (W7)`, async () => {
    service.script(SILENT, SILENT);
    const { conversation, watch } = trial({ isStored });
    conversation.send("left");
    await eventually(() => expect(service.received).toHaveLength(1));
    const left = watch.turn?.id;
    conversation.leave();
    expect(watch.turn?.ending).toBe("disconnected");
    conversation.send("stopped");
    await eventually(() => expect(service.received).toHaveLength(2));
    conversation.stop();
    const ids = isStored ? [watch.turn?.id] : [left, watch.turn?.id];
    await eventually(() => expect(service.cancelled).toEqual(ids));
  });
}

test("an answer is taken up from another source, once; its first text replaces what was there", async () => {
  service.script(answer(["fresh"]));
  const turn: Turn = { id: "a", question: "q", answer: "ol", ending: "disconnected" };
  const { conversation, watch } = trial({ before: [turn] });
  async function* batches() {
    yield [];
    yield [{ kind: "text", text: "old" } as const];
    yield [{ kind: "finish", reason: "stop" } as const, { kind: "done" } as const];
  }
  conversation.retry({ send: async () => ({ ok: true, batches: batches() }) });
  await watch.until((state) => state === "idle");
  expect([turn.answer, turn.ending, watch.shown]).toEqual(["old", "whole", "old"]);
  expect(service.received).toEqual([]);
  // A finished answer is not taken up, and the next question goes to the service.
  conversation.retry({ send: () => Promise.reject(new Error("not asked")) });
  conversation.again();
  await eventually(() => expect([turn.answer, turn.ending]).toEqual(["fresh", "whole"]));
});

test("stop keeps the text that arrived, aborts the request and cancels it at the service (W7)", async () => {
  service.script({ acts: [{ send: chunk("half") }, "silence"] });
  const { conversation, watch } = trial();
  conversation.send("hello");
  await eventually(() => expect(watch.shown).toBe("half"));
  conversation.stop();
  expect([conversation.state, watch.turn?.ending, watch.turn?.answer]).toEqual([
    "idle",
    "stopped",
    "half",
  ]);
  await eventually(() => {
    expect(service.received.map(({ isAborted }) => isAborted)).toEqual([true]);
    expect(service.cancelled).toEqual([watch.turn?.id]);
  });
});

test("after a stop during a back-off nothing more is sent (W7)", async () => {
  service.script(refusal(429, "rate_limit_exceeded"), answer(["never"]));
  const { conversation, watch } = trial();
  conversation.send("hello");
  await watch.until(() => watch.waits.length > 0);
  conversation.stop();
  await pause(700);
  expect(service.received).toHaveLength(1);
});

test("a second send during an answer does nothing (W8)", async () => {
  service.script(answer(["a", "b"], 30));
  const { ask, conversation } = trial();
  const asked = ask();
  expect(conversation.send("again")).toBe(false);
  await asked;
  expect(service.received).toHaveLength(1);
});

test("an empty message is not sent (W8)", () => {
  service.script();
  expect(trial().conversation.send(" \n ")).toBe(false);
});

test("a message that is sent offline is sent once when the network is back (W6)", async () => {
  service.script(answer(["ok"]));
  let online = false;
  const { conversation, watch } = trial({ isOnline: () => online });
  conversation.send("hello");
  await pause(300);
  expect(service.received).toHaveLength(0);
  expect(watch.waits).toEqual(["offline"]);
  online = true;
  conversation.online();
  conversation.online();
  await watch.until((state) => state === "idle");
  expect(service.received).toHaveLength(1);
});

test("turns of an earlier page are sent as history, also partial ones, and are not asked again (W1)", async () => {
  service.script(answer(["ok"]));
  const before: Turn[] = [
    { id: "1", question: "first", answer: "one", ending: "whole" },
    { id: "2", question: "second", answer: "tw", ending: "disconnected" },
  ];
  const { ask, conversation } = trial({ before });
  await pause(60);
  expect(service.received).toHaveLength(0);
  await ask("third");
  expect(conversation.turns.map(({ question }) => question)).toEqual(["first", "second", "third"]);
  expect(service.received.map(({ body }) => body.messages)).toEqual([
    [
      { role: "user", content: "first" },
      { role: "assistant", content: "one" },
      { role: "user", content: "second" },
      { role: "assistant", content: "tw" },
      { role: "user", content: "third" },
    ],
  ]);
});

/** Ending of the last turn of an earlier page -> number of requests of a retry. */
for (const [ending, requests] of [
  ["whole", 0],
  ["stopped", 0],
  ["disconnected", 1],
  ["cut", 1],
] as const) {
  test(`a restored turn that ended "${ending}": retry asks ${requests} time(s) (W1)`, async () => {
    service.script(answer(["anew"]));
    const { conversation, watch } = trial({
      before: [{ id: "1", question: "first", answer: "on", ending }],
    });
    conversation.retry();
    if (requests > 0) await watch.until((state) => state === "idle");
    expect(conversation.turns[0]?.answer).toBe(requests > 0 ? "anew" : "on");
    await pause(60);
    expect(service.received.map(({ body }) => body.client_message_id)).toEqual(
      Array(requests).fill("1"),
    );
  });
}

/** Waits until the assertions hold. */
function eventually(assertions: () => void): Promise<void> {
  return vi.waitFor(assertions, { timeout: 20_000, interval: 10 });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
