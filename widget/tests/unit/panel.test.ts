/** The computations of the panel: differences, reasons, logs, a command line. */

import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { changes, fields, messagesOf } from "../../panel/diff.ts";
import { readLog } from "../../panel/log.ts";
import * as personal from "../../panel/personal.ts";
import { Watch } from "../../panel/state/queue.ts";
import { Store } from "../../panel/state/store.ts";
import type { Call, Message, Queue, Row, Whole } from "../../panel/types.ts";

type Why = typeof import("../../panel/why.ts");
type Inbox = typeof import("../../panel/state/inbox.ts");
let why: Why;
let inbox: Inbox;
let list: typeof import("../../panel/list.ts");

beforeAll(async () => {
  vi.stubGlobal("navigator", { language: "en" });
  afterAll(() => {
    vi.unstubAllGlobals();
  });
  why = await import("../../panel/why.ts");
  inbox = await import("../../panel/state/inbox.ts");
  list = await import("../../panel/list.ts");
});

test("a part of the page hears of a store until its end, and is free then", () => {
  const name = new Store("a");
  const end = new AbortController();
  const heard: string[] = [];
  name.until(end.signal).follow((one) => heard.push(one));
  name.set("b");
  end.abort();
  name.set("c");
  expect(heard).toEqual(["a", "b"]);
});

const CALL: Call = {
  message_id: 5,
  number: 1,
  created_at: 0,
  finish_reason: "stop",
  stream_complete: true,
  ttft: 0.2,
  duration: 1,
  prompt_tokens: 100,
  completion_tokens: 10,
  request: null,
  response: null,
  meta: { attempts: [{ key: "a", outcome: "ok", ms: 200 }] },
  error: null,
};

function said(id: number, status = "ok"): Message {
  return { id, role: id % 2 ? "user" : "assistant", content: `${id}`, status, created_at: 0 };
}

function texts(call: Call, messages: Message[] = []): string[] {
  return why.findings(call, messages).map(({ text }) => text);
}

const told = (...contents: string[]) => contents.map((content) => ({ role: "user", content }));

test("a window that moved shows removed, kept and added messages (P29)", () => {
  const runs = changes(told("system", "a", "b", "c"), told("system", "c", "d"));
  expect(runs.map(({ kind, messages }) => [kind, messages.map((one) => one.content)])).toEqual([
    ["same", ["system"]],
    ["gone", ["a", "b"]],
    ["same", ["c"]],
    ["new", ["d"]],
  ]);
});

test("a call without headers in time names the setting and the time (R3)", () => {
  const meta = { attempts: [{ key: "a", outcome: "silent", ms: 4500 }] };
  const error = { message: "", code: "gateway_timeout" } as Call["error"];
  const found = texts({ ...CALL, ttft: null, finish_reason: null, meta, error });
  expect(found.some((text) => text.includes("4.5 s") && text.includes("patience"))).toBe(true);
  const hedged = [{ key: "a", outcome: "silent", ms: 2500 }, ...(CALL.meta.attempts ?? [])];
  expect(texts({ ...CALL, meta: { attempts: hedged } }).join()).not.toContain("patience");
});

test("a damaged record says only that (M6)", () => {
  const meta = { damaged: "This record is damaged: it cannot be read." };
  expect(texts({ ...CALL, stream_complete: false, finish_reason: null, meta })).toEqual([
    meta.damaged,
  ]);
});

test("the same text in another role is another message", () => {
  const [before, after] = [[{ role: "user", content: "x" }], [{ role: "system", content: "x" }]];
  expect(changes(before, after).map(({ kind }) => kind)).toEqual(["gone", "new"]);
  expect(changes([], [])).toEqual([]);
});

test("other fields that differ are named, the messages are not", () => {
  const [before, after] = [
    { model: "a", temperature: 0.5, messages: [1] },
    { model: "a", temperature: 1, n: 1, messages: [] },
  ];
  expect(fields(before, after)).toEqual([
    ["temperature", "0.5", "1"],
    ["n", "–", "1"],
  ]);
  expect(messagesOf(before)).toEqual([{ role: "", content: '""' }]);
  expect(messagesOf(undefined)).toEqual([]);
});

test("a call that went well needs no explanation", () => {
  expect(texts(CALL)).toEqual([]);
});

test.each<[string, Partial<Call>, RegExp]>([
  ["length", { finish_reason: "length" }, /maximum length/],
  ["filter", { finish_reason: "content_filter" }, /content filter/],
  ["cut", { finish_reason: null }, /incomplete/],
  ["slow", { ttft: 4.2 }, /4.2 s/],
  ["no key", { meta: { attempts: [] }, error: { code: "rate_limit_exceeded" } }, /cooling down/],
  ["left", { error: { code: "client_gone" }, finish_reason: null }, /pressed Stop/],
  ["summary", { meta: { purpose: "summary" } }, /summarized older messages/],
  [
    "one try",
    { meta: { attempts: [{ key: "a", outcome: "http_500", ms: 1 }] }, error: { code: "x" } },
    /^The only attempt failed \(http_500\)\./,
  ],
  ["again", { meta: { again: 1 } }, /again: attempt 2/],
  ["too long", { error: { code: "context_length_exceeded" } }, /too long/],
  [
    "drift",
    { prompt_tokens: 1000, meta: { local: { prompt: 500, window: null, strategy: "v1" } } },
    /50 %/,
  ],
])("%s is said (P28)", (_, changed, sentence) => {
  expect(texts({ ...CALL, ...changed }).join(" ")).toMatch(sentence);
});

test("messages beyond the history are distinguished from trimmed ones (P28)", () => {
  const messages = [said(1), said(2), said(3, "failed"), said(5), said(6), said(7)];
  const call = { ...CALL, message_id: 7, meta: { history: { read: 2, told: 2 } } };
  expect(texts(call, messages)).toEqual([
    "2 earlier messages are beyond KEFU_MAX_HISTORY_TURNS and were not read.",
    "1 earlier messages failed and are not sent to the model.",
  ]);
  const aside = { ...call, meta: { ...call.meta, purpose: "summary" as const } };
  expect(texts(aside, messages)).toHaveLength(1);
});

test("positions that were left out lead to messages, unless hooks changed the history", () => {
  const messages = [said(1), said(2), said(3), said(4), said(5)];
  const trimmed = {
    ...{ kept: 4, dropped: 2, reasons: { budget: 2 }, tokens: 1, limit: 1 },
    ...{ over_budget: false, fallback: "" },
    left_out: [[1, 3, "budget"] as const],
  };
  const history = { read: 4, told: 4 };
  const found = why.leftOut({ ...CALL, meta: { trimmed, history } }, messages);
  expect(found).toEqual([{ ids: [1, 2], reason: "budget" }]);
  const [first, stop] = [0, 2];
  const bare = { ...trimmed, kept: 3, left_out: [[first, stop, "budget"] as const] };
  const alone = why.leftOut({ ...CALL, meta: { trimmed: bare, history } }, messages);
  expect(alone).toEqual([{ ids: [1, 2], reason: "budget" }]);
  const summed = { ...trimmed, kept: 5, reasons: { summarized: 2 } };
  const covered = why.leftOut({ ...CALL, meta: { trimmed: summed, history } }, messages);
  expect(covered?.map(({ ids }) => ids)).toEqual([[1, 2]]);
  const hooked = { ...CALL, meta: { trimmed, history: { read: 4, told: 3 } } };
  expect(why.leftOut(hooked, messages)).toBeUndefined();
});

const golden = (name: string) =>
  readFileSync(new URL(`../../../tests/${name}`, import.meta.url), "utf8");

test("a terminal session's log reads as a conversation, old form and new (P31)", () => {
  const old = readLog(golden("cli/older.jsonl"));
  expect(old?.messages.map(({ id, content, status }) => [id, content, status])).toEqual([
    [1, "帮我读 README", "ok"],
    [2, "README 摘要...", "ok"],
  ]);
  expect(old?.calls[0]?.tools).toEqual([
    { tool: "read", input: "/repo/README.md", output: "(文件片段)", ok: true },
  ]);
  expect(old?.calls[0]?.prompt_tokens).toBe(120);
  const log = readLog(golden("golden/session.jsonl"));
  expect(log?.messages.length).toBeGreaterThan(1);
  expect(log?.calls.length).toBeGreaterThan(1);
});

test("an incomplete last line and unknown lines are skipped, and other files are refused", () => {
  const whole = golden("cli/older.jsonl");
  const lines = whole.trimEnd().split("\n").length;
  for (let cut = whole.length; cut > whole.length - 120; cut--) {
    expect(readLog(whole.slice(0, cut))?.messages.length).toBe(2);
  }
  expect(lines).toBeGreaterThan(3);
  expect(readLog(`{"type":"new","turn":1}\n${whole}`)?.messages.length).toBe(2);
  for (const none of ["", "hello", "[]", "null", '{"a":1}', '{"type":"message"}']) {
    expect(readLog(none)).toBeUndefined();
  }
});

const PANEL = new URL("../../panel/", import.meta.url);

test("only main.ts and pages.ts know the requests: views get values; nothing makes markup of text (P32)", () => {
  const names = readdirSync(PANEL, { recursive: true, encoding: "utf8" });
  const sources = names.filter((name) => name.endsWith(".ts"));
  expect(sources.length).toBeGreaterThan(30);
  for (const name of sources) {
    const code = readFileSync(new URL(name, PANEL), "utf8");
    expect(code, name).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\("on/,
    );
    if (name !== "api.ts") expect(code, name).not.toMatch(/\bfetch\(|XMLHttpRequest|cookie/);
    const isJoining = ["main.ts", "pages.ts"].includes(name);
    if (!isJoining) expect(code, name).not.toContain('/api.ts"');
  }
});

test("what looks personal is marked in each place, by characters as Python counts them (H28)", () => {
  const text = "😀 Kari, order 20261 of Kari Nordmann";
  const marks = [
    { field: "text", start: 2, end: 6 },
    { field: "text", start: 14, end: 19 },
    { field: "text", start: 23, end: 36 },
  ];
  const parts = personal.markedParts(text, marks);
  expect(parts).toEqual(["Kari", "20261", "Kari Nordmann"]);
  const pieces = personal.piecesOf(text, parts);
  expect(pieces.map((one) => one.text).join("")).toBe(text);
  expect(pieces.filter((one) => one.isMarked).map((one) => one.text)).toEqual(parts);
  expect(personal.piecesOf("nothing", ["", "x"])).toEqual([{ text: "nothing", isMarked: false }]);
  expect(personal.piecesOf("", parts)).toEqual([]);
});

const ids = (rows: readonly Row[]) => rows.map(({ id }) => id);

test("who waits comes first, the longest wait on top, until somebody has taken the chat (H21)", () => {
  const row = (id: string, since = 0, state = since ? "waiting" : "bot") =>
    ({ id, attendance: { state, operator: "", since } }) as Row;
  const queue = [row("new", 30), row("far", 10), row("taken", 20), row("own", 40, "person")];
  const rows = [row("a"), row("taken", 25, "person"), row("new", 30), row("b")];
  expect(ids(list.waitingFirst(queue, rows))).toEqual(["own", "far", "new", "a", "taken", "b"]);
  expect(ids(list.waitingFirst([], rows))).toEqual(ids(rows));
});

test("a visitor whom the operator owes an answer waits, too, although the line was seen", async () => {
  const row = (id: string, operator: string, line_by: string) =>
    ({ id, line_by, updated_at: 1, attendance: { state: "person", operator, since: 1 } }) as Row;
  const held = [row("read", "Ann", ""), row("new", "Ann", ""), row("answered", "Ann", "Ann")];
  const person = { rows: [...held, row("other", "Bob", "")], cursor: null };
  const waiting = { rows: [], cursor: null };
  vi.useFakeTimers();
  const watch = new Watch({
    name: () => "Ann",
    isSeen: (id) => id === "read",
    ask: async () => ({ waiting, person, trouble: "" }) as unknown as Queue,
  });
  await vi.advanceTimersByTimeAsync(0);
  vi.useRealTimers();
  const { rows, count } = watch.state.get();
  expect([ids(rows), count]).toEqual([["read", "new"], "1"]);
});

test("a long queue is asked for less often: on DynamoDB each chat costs a read unit (H22)", async () => {
  const row = (_: unknown, at: number) => ({ id: `${at}`, attendance: {} }) as Row;
  const of = (length: number) => ({ rows: Array.from({ length }, row), cursor: null });
  const ask = vi.fn(async () => ({ waiting: of(50), person: of(0), trouble: "" }) as never);
  vi.useFakeTimers();
  new Watch({ name: () => "Ann", isSeen: () => false, ask });
  await vi.advanceTimersByTimeAsync(27_900);
  vi.useRealTimers();
  expect(ask).toHaveBeenCalledTimes(2);
});

test("the queue is asked for as soon as the operator has signed in (H22)", async () => {
  const none = { rows: [], cursor: null };
  const queue = { waiting: none, person: none, trouble: "" } as unknown as Queue;
  let isSignedIn = false;
  const ask = vi.fn(() => (isSignedIn ? Promise.resolve(queue) : undefined));
  vi.useFakeTimers();
  new Watch({ name: () => "Ann", isSeen: () => false, ask });
  await vi.advanceTimersByTimeAsync(1000);
  isSignedIn = true;
  ask.mockClear();
  await vi.advanceTimersByTimeAsync(1000);
  vi.useRealTimers();
  expect(ask).toHaveBeenCalledTimes(1);
});

test("a refresh puts new chats first and drops those that are not among the newest any more", () => {
  const row = (id: string, updated_at: number) => ({ id, updated_at }) as Row;
  const shown = [row("c", 30), row("b", 20), row("a", 10)];
  const merged = inbox.mergedRows(shown, [row("d", 40), row("b", 35)], false);
  expect(ids(merged)).toEqual(["d", "b", "c", "a"]);
  expect(ids(inbox.mergedRows(shown, [row("d", 40), row("b", 20)], false))).toEqual([
    "d",
    "b",
    "a",
  ]);
  expect(ids(inbox.mergedRows(shown, [row("b", 20)], true))).toEqual(["b"]);
  expect(ids(inbox.mergedRows(shown, [], true))).toEqual([]);
});

test("a filter goes on until it has rows, a search until it has read 2,000 chats (M2)", () => {
  const page = { rows: [], cursor: "next", read: 1000, waiting: 0 };
  expect(inbox.goesOn(page, false, 5000, 0)).toBe(true);
  expect(inbox.goesOn(page, false, 1000, 1)).toBe(false);
  expect(inbox.goesOn(page, true, 1000, 1)).toBe(true);
  expect(inbox.goesOn(page, true, 2000, 0)).toBe(false);
  expect(inbox.goesOn({ ...page, read: null }, false, 0, 0)).toBe(false);
  expect(inbox.goesOn({ ...page, read: null, waiting: 9 }, true, 0, 0)).toBe(true);
  expect(inbox.goesOn({ ...page, cursor: null }, false, 1000, 0)).toBe(false);
});

test("two looks at a chat at once lose no message and show a request once (H25)", async () => {
  const { Chat } = await import("../../panel/state/chat.ts");
  const message = { id: 7, status: "ok" } as Message;
  const attendance = { state: "waiting", operator: "", since: 5 };
  const whole = { session: { id: "s" }, messages: [], requests: [{ id: "r" }] } as unknown as Whole;
  const page = { seen_at: null, is_open: false };
  let answer = (_whole: Whole): void => {};
  const later = new Promise<Whole>((resolve) => {
    answer = resolve;
  });
  const chat = new Chat({ ...whole, requests: [] } as Whole, {
    session: () => later,
    talk: async () => ({ attendance, messages: [message], mail: null, page }),
    attend: async () => attendance,
    writing: async () => {},
    say: async () => "",
  });
  chat.close();
  chat.queued();
  chat.queued();
  await Promise.resolve();
  answer(whole);
  await vi.waitFor(() => expect(chat.state.get().attendance.state).toBe("waiting"));
  await new Promise((resolve) => setTimeout(resolve));
  const { fresh, asked } = chat.state.get();
  expect([fresh, asked]).toEqual([[message], [{ id: "r" }]]);
});

test("an open chat that was deleted says so, and a server that is away does not (H27)", async () => {
  const { Chat } = await import("../../panel/state/chat.ts");
  const { Missing } = await import("../../panel/state/trouble.ts");
  const attendance = { state: "person", operator: "Ingrid", since: 5 };
  let looks = 0;
  const chat = new Chat({ session: { id: "s", attendance }, messages: [] } as unknown as Whole, {
    session: () => Promise.reject(new Missing("There is no such session.")),
    talk: () => {
      looks += 1;
      return Promise.reject(
        looks > 1 ? new Missing("There is no such session.") : new Error("away"),
      );
    },
    attend: async () => attendance,
    writing: async () => {},
    say: () => Promise.reject(new Missing("There is no such session.")),
  });
  chat.look();
  await new Promise((resolve) => setTimeout(resolve));
  expect(chat.state.get().isDeleted).toBe(false);
  chat.look();
  await vi.waitFor(() => expect(chat.state.get().isDeleted).toBe(true));
});
