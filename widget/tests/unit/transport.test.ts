/** How questions go out to a service, over real HTTP: with the conversation, or alone in a session. */

import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { restore } from "../../src/features/resume/restore.ts";
import { clicking } from "../../src/features/tools/click.ts";
import { Lazy } from "../../src/open/lazy.ts";
import { Owner } from "../../src/open/owner.ts";
import { type Area, Store } from "../../src/open/store.ts";
import { plainAsk } from "../../src/open/transport/http.ts";
import { KeptTransport } from "../../src/open/transport/kept.ts";
import type { Arrival } from "../../src/open/transport/sse.ts";
import type { KeptChat, Reply } from "../../src/open/transport/transport.ts";
import { isClick, type Turn } from "../../src/open/turn.ts";
import { answer, inSession, type Play, refusal, ScriptedService } from "../scripted-service.ts";
import { tokenOf } from "../user-token.ts";

let service: ScriptedService;
beforeAll(async () => {
  service = await ScriptedService.start();
});
afterAll(() => service.stop());
beforeEach(() => service.script());

const mine = (play: Play): Play => inSession(play, "s1", "t1");
const turn = (question: string, text = ""): Turn => ({
  id: `id of ${question}`,
  question,
  answer: text,
  ending: "whole",
});
const sent = () =>
  service.received.map(({ body, headers }) => [
    body.message ?? body.messages.map(({ content }) => content),
    body.session_id,
    headers["x-session-token"],
  ]);

interface Trial {
  readonly transport: KeptTransport;
  readonly store: Store;
  readonly owner: Owner;
  user: string | undefined;
  chat: KeptChat | undefined;
  lost: number;
}

/** A page with an empty storage, or with a session in it. */
function trial(session?: object): Trial {
  const items = new Map<string, string>();
  const area: Area = {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  };
  const apiUrl = new URL(service.url);
  const store = new Store(apiUrl, () => area);
  if (session) store.write({ session, turns: [turn("before", "yes")] });
  const it = { store, user: undefined, chat: undefined, lost: 0 } as {
    -readonly [K in keyof Trial]: Trial[K];
  };
  it.owner = new Owner(() => it.user, store);
  it.transport = new KeptTransport({
    apiUrl,
    store,
    owner: it.owner,
    lang: "de",
    asking: async (asked) => (isClick(asked) ? clicking(asked, apiUrl, plainAsk, TEXTS) : plainAsk),
    changed: (chat) => {
      it.chat = chat;
    },
    lost: () => {
      it.lost += 1;
    },
  });
  it.chat = it.transport.chat;
  return it;
}

const TEXTS = { lang: "de", expired: "Diese Frage ist abgelaufen." };

const NEVER = new AbortController().signal;

async function textOf(reply: Reply): Promise<string> {
  if (!reply.ok) return reply.code;
  let text = "";
  for await (const arrivals of reply.batches) {
    for (const arrival of arrivals) if (arrival.kind === "text") text += arrival.text;
  }
  return text;
}

test("transport: a service that stores no chats gets the whole conversation from the second question on (W2)", async () => {
  service.script(answer(["1"]), answer(["2"]));
  const it = trial();
  await textOf(await it.transport.send([turn("one")], NEVER));
  await textOf(await it.transport.send([turn("one", "1"), turn("more")], NEVER));
  expect(sent()).toEqual([
    [["one"], undefined, undefined],
    [["one", "1", "more"], undefined, undefined],
  ]);
  expect(it.chat).toBe(undefined);
});

test("transport: a question after one that was never answered still begins a stored chat (P34)", async () => {
  service.script(refusal(503, "any"), mine(answer(["b"])));
  const it = trial();
  await it.transport.send([turn("one")], NEVER);
  await textOf(await it.transport.send([turn("one"), turn("more")], NEVER));
  expect(sent().map(([said]) => said)).toEqual([["one"], ["more"]]);
  expect(it.store.read().session).toEqual({ id: "s1", token: "t1" });
});

test("transport: a service with kept chats gets the question alone, then with its session (P34, P35)", async () => {
  service.script(mine(answer(["a"])), mine(answer(["b"])));
  service.kept = [];
  const it = trial();
  for (const question of ["one", "more"]) {
    await textOf(await it.transport.send([turn("zero"), turn(question)], NEVER));
  }
  expect(service.received[0]?.body).toMatchObject({ store: true });
  expect(sent()).toEqual([
    [["one"], undefined, undefined],
    ["more", "s1", "t1"],
  ]);
  expect(it.store.read().session).toEqual({ id: "s1", token: "t1" });
  it.chat?.forget();
  expect([it.chat, it.store.read().session]).toEqual([undefined, undefined]);
});

test("transport: a 404 for a question clears the stored chat, says so once, and asks anew (P3)", async () => {
  service.script(refusal(404, "session_not_found"), inSession(answer(["a"]), "s2", "t2"));
  service.kept = [];
  const it = trial({ id: "s1", token: "t1" });
  const reply = await it.transport.send([turn("before", "yes"), turn("more")], NEVER);
  expect(await textOf(reply)).toBe("a");
  expect(sent()).toEqual([
    ["more", "s1", "t1"],
    [["more"], undefined, undefined],
  ]);
  expect(it.lost).toBe(1);
  expect(it.store.read()).toMatchObject({ turns: [], session: { id: "s2", token: "t2" } });
});

for (const [what, last] of [
  ["that stores no chats any more gets the conversation", answer(["a"])],
  ["that finds a message too long keeps the chat", refusal(400, "invalid_request")],
] as const) {
  test(`transport: a service ${what}`, async () => {
    const refused: Play = {
      ...refusal(400, "invalid_request"),
      acts: [{ send: JSON.stringify({ error: { code: "invalid_request", param: "message" } }) }],
    };
    service.script(refused, last);
    const it = trial({ id: "s1", token: "t1" });
    await textOf(await it.transport.send([turn("before", "yes"), turn("more")], NEVER));
    expect(sent()).toEqual([
      ["more", "s1", "t1"],
      [["before", "yes", "more"], undefined, undefined],
    ]);
    expect(it.store.read().session === undefined).toBe(last.status === undefined);
  });
}

/** status -> the code that the conversation goes by, in a stored chat and without one */
for (const [status, keeps, code] of [
  [409, true, "rate_limit_exceeded"],
  [409, false, "upstream_service_unavailable"],
  [429, true, "rate_limit_exceeded"],
  [503, true, "upstream_service_unavailable"],
  [504, false, "gateway_timeout"],
  [403, true, "forbidden"],
] as const) {
  test(`transport: ${status}, ${keeps ? "kept" : "stateless"} -> ${code}, with Retry-After (W6, D9)`, async () => {
    service.script(refusal(status, "any", { "Retry-After": "7" }));
    const before = keeps ? [] : [turn("zero", "0")];
    const reply = await trial().transport.send([...before, turn("one")], NEVER);
    expect(reply).toEqual({ ok: false, code, retryAfterMs: 7_000 });
  });
}

const ID = "approval-3-0f";
const clicked = (mark: string): Turn => ({ ...turn(`${mark} Cancel order 5?`), id: ID });

/** Sends the last of `turns`, a click, as the conversation does. */
async function clickOn({ transport }: Trial, ...turns: readonly Turn[]): Promise<Reply> {
  await transport.ready(turns.at(-1) as Turn);
  return transport.send(turns, NEVER);
}

test("transport: a click goes to the chat of its card, without a message, in the language (A10, A16)", async () => {
  for (const [mark, approved] of [
    ["✓", true],
    ["✗", false],
  ] as const) {
    service.script(mine(answer(["Well."])));
    const it = trial({ id: "s1", token: "t1" });
    const reply = await clickOn(it, turn("before", "yes"), clicked(mark));
    expect(await textOf(reply)).toBe("Well.");
    const [{ body, headers } = expect.fail("no request")] = service.received;
    expect(body).toEqual({
      session_id: "s1",
      sources: true,
      steps: true,
      approval: { id: ID, approved },
    });
    expect(headers["accept-language"]).toBe("de");
  }
});

test("transport: a refused click is answered by its reason in the visitor's language (A10)", async () => {
  const error = { code: "approval_gone", reason: "expired", message: "This question has expired." };
  service.script({ ...refusal(409, ""), acts: [{ send: JSON.stringify({ error }) }] });
  const it = trial({ id: "s1", token: "t1" });
  const reply = await clickOn(it, clicked("✓"));
  const arrivals: Arrival[] = [];
  if (reply.ok) for await (const batch of reply.batches) arrivals.push(...batch);
  expect(arrivals).toMatchObject([
    { kind: "event", event: { gone: true } },
    { kind: "text", text: TEXTS.expired },
    { kind: "finish", reason: "stop" },
    { kind: "done" },
  ]);
});

/** A click becomes a message in no case: status, code -> the code that the conversation goes by */
for (const [status, said, code] of [
  [409, "session_busy", "rate_limit_exceeded"],
  [404, "session_not_found", "invalid_request"],
  [503, "store_full", "upstream_service_unavailable"],
  [400, "invalid_request", "invalid_request"],
  [429, "rate_limit_exceeded", "rate_limit_exceeded"],
] as const) {
  test(`transport: a click, ${status} ${said} -> ${code}, after one request (A10)`, async () => {
    service.script(refusal(status, said));
    const it = trial({ id: "s1", token: "t1" });
    const reply = await clickOn(it, turn("before", "yes"), clicked("✓"));
    expect(reply).toMatchObject({ ok: false, code });
    expect(service.received.map(({ body }) => [body.message, body.messages])).toEqual([
      [undefined, undefined],
    ]);
  });
}

test("transport: questions name the language and ask for steps, with and without a chat (A16)", async () => {
  service.script(answer(["1"]), answer(["2"]), mine(answer(["3"])));
  await textOf(await trial().transport.send([turn("one")], NEVER));
  await textOf(await trial().transport.send([turn("one", "1"), turn("more")], NEVER));
  await textOf(await trial({ id: "s1", token: "t1" }).transport.send([turn("more")], NEVER));
  for (const { body, headers } of service.received) {
    expect([body.steps, headers["accept-language"]]).toEqual([true, "de"]);
  }
});

test("transport: if the user changes before the response, it is of no use to the next one (T16)", async () => {
  service.script(inSession(answer(["for Ann"], 50), "s-ann", "t-ann"));
  service.kept = [];
  const it = trial();
  it.user = tokenOf("ann");
  it.owner.check();
  const asked = new AbortController();
  it.owner.onCleared(() => asked.abort());
  const reply = it.transport.send([turn("one")], asked.signal);
  await expect.poll(() => service.received.length, { timeout: 30_000 }).toBe(1);
  it.user = tokenOf("bob");
  it.owner.check();
  await expect(reply.then(textOf)).rejects.toThrow();
  expect([it.chat, it.store.read().session]).toEqual([undefined, undefined]);
});

test("transport: a restored chat has the service's texts; without a response it is unchanged (P14)", async () => {
  const session = { id: "s1", token: "t1" };
  for (const [kept, questions] of [
    [[{ role: "user", content: "elsewhere", status: "ok" }], ["before", "elsewhere"]],
    ["gone", []],
  ] as const) {
    service.script();
    service.kept = kept;
    const it = trial(session);
    if (it.chat) await restore(it.chat, it.store, it.owner);
    expect(it.store.read().turns.map(({ question }) => question)).toEqual(questions);
    expect(it.chat === undefined).toBe(kept === "gone");
  }
});

test("transport: the newest chat of a signed-in user with the page's preset is found (D2)", async () => {
  for (const [chats, preset, found] of [
    [[{ id: "s9", token: "t9", title: "Mine" }], "shop", { id: "s9", token: "t9" }],
    [[], undefined, undefined],
    [[{ id: "s9" }], "", undefined],
    [undefined, undefined, undefined],
  ] as const) {
    service.script();
    service.chats = chats;
    const it = trial();
    it.user = tokenOf("ann");
    it.owner.check();
    expect(it.store.isNew).toBe(true);
    await it.transport.find(preset);
    expect(it.store.read().session).toEqual(found);
    expect(it.chat !== undefined).toBe(found !== undefined);
    expect(it.store.isNew).toBe(found === undefined);
    const asked = `/api/sessions?limit=1&config_id=${preset || "default"} ann`;
    expect(service.looked).toEqual(chats ? [asked] : []);
  }
});

test("lazy: a module is fetched once, used at once when it is there, and tried again if it was away", async () => {
  const page = new EventTarget();
  vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
  vi.stubGlobal("navigator", { onLine: true });
  let tries = 0;
  const lazy = new Lazy(async () => {
    tries += 1;
    if (tries === 1) throw new Error("away");
    return tries;
  });
  const used: number[] = [];
  lazy.use((module) => used.push(module));
  expect(await lazy.load()).toBe(undefined);
  expect(await lazy.load()).toBe(2);
  lazy.use((module) => used.push(module));
  expect(used).toEqual([2]);
  expect(await lazy.load()).toBe(2);
  expect(tries).toBe(2);
  // Offline, the use waits for the network (M3).
  vi.stubGlobal("navigator", { onLine: false });
  const late = new Lazy(async () => {
    if (!navigator.onLine) throw new Error("away");
    return 3;
  });
  late.use((module) => used.push(module));
  await late.load();
  vi.stubGlobal("navigator", { onLine: true });
  page.dispatchEvent(new Event("online"));
  await late.load();
  expect(used).toEqual([2, 3]);
  vi.unstubAllGlobals();
});
