/** Whose chat it is, and when it has to be cleared. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Owner, RENEWAL_MS, type Reason } from "../../src/open/owner.ts";
import { type Area, Store } from "../../src/open/store.ts";
import { tokenOf } from "../user-token.ts";

const API = new URL("https://api.example/api/chat");
const KEY = `kefu-chat:1:${API}`;
const NOW = 1_800_000_000;

beforeEach(() => {
  vi.useFakeTimers({ now: NOW * 1_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

interface Trial {
  /** The page's token; an error is thrown. */
  token: string | undefined | Error;
  readonly items: Map<string, string>;
  readonly store: Store;
  readonly owner: Owner;
  readonly cleared: Reason[];
}

/** A page with this token, and with the record of this user in its storage. */
function trial(token: Trial["token"], recordOf?: string | null): Trial {
  const items = new Map<string, string>();
  if (recordOf !== undefined) items.set(KEY, record(recordOf ?? undefined));
  const area: Area = {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  };
  const store = new Store(API, () => area);
  const cleared: Reason[] = [];
  const it = { token, items, store, cleared } as { -readonly [K in keyof Trial]: Trial[K] };
  it.owner = new Owner(() => {
    if (it.token instanceof Error) throw it.token;
    return it.token;
  }, store);
  it.owner.onCleared((reason) => cleared.push(reason));
  return it;
}

function record(user: string | undefined): string {
  const turns = [{ id: "1", question: "secret", answer: "", ending: "whole" }];
  return JSON.stringify({ user, turns, session: { id: "s", token: "t" } });
}

const thrown = new TypeError("app.user is null");
const ann = tokenOf("ann", NOW + 600);

/** The token of the page, the user of the record (null: none) -> whether it is restored. */
const LOADS: readonly (readonly [string, Trial["token"], string | null, boolean])[] = [
  ["ann's token, ann's record", ann, "ann", true],
  ["no token, nobody's record", undefined, null, true],
  ["bob's token, ann's record", tokenOf("bob", NOW + 600), "ann", false],
  ["no token, ann's record", undefined, "ann", false],
  ["a function that throws, ann's record", thrown, "ann", false],
  ["ann's token, nobody's record", ann, null, false],
  ["ann's token, expired", tokenOf("ann", NOW), "ann", false],
  ["no JWT at all", "ann", "ann", false],
];

for (const [what, token, recordOf, isRestored] of LOADS) {
  test(`owner: ${what}: ${isRestored ? "restored" : "removed"} when the page is loaded (T16)`, () => {
    const { store, items } = trial(token, recordOf);
    expect(store.read().turns.length).toBe(isRestored ? 1 : 0);
    expect(store.read().session !== undefined).toBe(isRestored);
    expect(items.size).toBe(isRestored ? 1 : 0);
  });
}

/** The token before and after -> why the chat is cleared, if it is. */
const CHANGES: readonly (readonly [string, Trial["token"], Trial["token"], Reason[]])[] = [
  ["the same token", ann, ann, []],
  ["a renewed token of the same user", ann, tokenOf("ann", NOW + 9_000), []],
  ["another user", ann, tokenOf("bob", NOW + 600), ["other"]],
  ["another user, whose token has expired", ann, tokenOf("bob", NOW - 600), ["other"]],
  ["signed out", ann, undefined, ["other"]],
  ["a function that throws now", ann, thrown, ["other"]],
  ["signed in", undefined, ann, ["signed-in"]],
  ["still nobody", undefined, undefined, []],
  ["still a function that throws", thrown, thrown, []],
];

for (const [what, before, after, reasons] of CHANGES) {
  test(`owner: ${what}: ${reasons[0] ?? "nothing"} is cleared, once (T16)`, () => {
    const it = trial(before);
    it.store.write({ isOpen: true });
    const { signal } = it.owner;
    it.token = after;
    expect(it.owner.check()).toBe(reasons.length === 0);
    expect(it.owner.check()).toBe(true);
    expect(it.cleared).toEqual(reasons);
    expect(signal.aborted).toBe(reasons.length > 0);
    expect(it.owner.signal.aborted).toBe(false);
    expect(it.items.size).toBe(reasons.length === 0 ? 1 : 0);
  });
}

test("owner: an expired token that the page renews in time keeps the chat (T16)", () => {
  const it = trial(tokenOf("ann", NOW + 10), "ann");
  vi.setSystemTime((NOW + 10) * 1_000);
  expect(it.owner.check()).toBe(true);
  vi.advanceTimersByTime(RENEWAL_MS - 1);
  expect(it.owner.check()).toBe(true);
  it.token = tokenOf("ann", NOW + 3_600);
  vi.advanceTimersByTime(RENEWAL_MS);
  expect(it.owner.check()).toBe(true);
  expect(it.cleared).toEqual([]);
  expect(it.store.read().turns.length).toBe(1);
});

test("owner: a laptop that slept past the expiry leaves the page the same time to renew (T16)", () => {
  const it = trial(tokenOf("ann", NOW + 10), "ann");
  vi.setSystemTime((NOW + 90_000) * 1_000);
  expect(it.owner.check()).toBe(true);
  it.token = tokenOf("ann", NOW + 99_000);
  vi.advanceTimersByTime(RENEWAL_MS);
  expect(it.owner.check()).toBe(true);
  expect(it.cleared).toEqual([]);
});

test("owner: an expired token that is not renewed clears the chat, once, and nothing is stored (T16)", () => {
  const it = trial(tokenOf("ann", NOW + 10), "ann");
  vi.setSystemTime((NOW + 10) * 1_000);
  it.owner.check();
  vi.advanceTimersByTime(RENEWAL_MS);
  expect(it.owner.check()).toBe(false);
  expect(it.owner.check()).toBe(true);
  expect(it.cleared).toEqual(["expired"]);
  it.store.write({ isOpen: true });
  expect(it.items.size).toBe(0);
});

test("owner: renewed later, the same user's chat is stored again; another's clears (T16)", () => {
  const it = trial(tokenOf("ann", NOW + 10), "ann");
  vi.setSystemTime((NOW + 10) * 1_000);
  it.owner.check();
  vi.advanceTimersByTime(RENEWAL_MS);
  it.owner.check();
  it.token = tokenOf("ann", NOW + 9_000);
  expect(it.owner.check()).toBe(true);
  it.store.write({ isOpen: true });
  expect(it.items.size).toBe(1);
  it.token = tokenOf("bob", NOW + 9_000);
  expect(it.owner.check()).toBe(false);
  expect(it.cleared).toEqual(["expired", "other"]);
  expect(it.items.size).toBe(0);
});

test("owner: another user while the last one's token is waited for clears at once (T16)", () => {
  const it = trial(tokenOf("ann", NOW + 10), "ann");
  vi.setSystemTime((NOW + 10) * 1_000);
  it.owner.check();
  it.token = undefined;
  expect(it.owner.check()).toBe(false);
  expect(it.cleared).toEqual(["other"]);
});

test("owner: with a clock that is wrong, the chat works on its page and is not stored (T16)", () => {
  const it = trial(tokenOf("ann", NOW - 86_400));
  vi.advanceTimersByTime(10 * RENEWAL_MS);
  expect(it.owner.check()).toBe(true);
  expect(it.cleared).toEqual([]);
  it.store.write({ isOpen: true });
  expect(it.items.size).toBe(0);
});

test("owner: for a request the token is read after the check, and an error of the page is thrown (T16)", () => {
  const it = trial(ann, "ann");
  expect(it.owner.token()).toBe(ann);
  it.token = thrown;
  expect(() => it.owner.token()).toThrow(thrown);
  expect(it.cleared).toEqual(["other"]);
});
