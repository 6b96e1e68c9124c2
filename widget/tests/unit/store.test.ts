/** The stored conversation, in storage with any behaviour. */

import { expect, test } from "vitest";
import { NOBODY } from "../../src/open/identity.ts";
import { type Area, Store } from "../../src/open/store.ts";
import type { Turn } from "../../src/open/turn.ts";

const API = new URL("https://api.example/api/chat");
const NOW = 1_800_000_000_000;
const ann = { user: "ann", expiresAt: NOW + 60_000 };
const bob = { user: "bob", expiresAt: NOW + 60_000 };
const EMPTY = { agreed: undefined, isOpen: false, isWaiting: false, unread: 0, turns: [] };

/** A storage like the browser's, with room for so many characters. */
class Memory implements Area {
  readonly items = new Map<string, string>();
  readonly #room: number;

  constructor(room = 5_000_000) {
    this.#room = room;
  }
  getItem(key: string): string | null {
    return this.items.get(key) ?? null;
  }
  setItem(key: string, value: string): void {
    if (value.length > this.#room) throw new DOMException("full", "QuotaExceededError");
    this.items.set(key, value);
  }
  removeItem(key: string): void {
    this.items.delete(key);
  }
}

function turn(id: number, answer = "yes"): Turn {
  return { id: String(id), question: `question ${id}`, answer, ending: "whole" };
}

function storeOn(area: Area, apiUrl = API): Store {
  return new Store(apiUrl, () => area);
}

/** A store whose storage holds `text` under the store's own key. */
function holding(text: string): Store {
  const area = new Memory();
  storeOn(area).write({ isOpen: true });
  for (const key of area.items.keys()) area.items.set(key, text);
  return storeOn(area);
}

test("store: only a signed-in user without a record in a storage that works is new (D2)", () => {
  const area = new Memory();
  const store = storeOn(area);
  expect(store.isNew).toBe(false);
  store.claim(ann, NOW);
  expect(store.isNew).toBe(true);
  store.write({ session: undefined });
  expect(store.isNew).toBe(false);
  store.claim(bob, NOW);
  expect(store.isNew).toBe(true);
  store.claim(bob, bob.expiresAt);
  expect(store.isNew).toBe(false);
  const nowhere = new Store(API, () => undefined);
  nowhere.claim(ann, NOW);
  expect(nowhere.isNew).toBe(false);
  const blocked = new Store(API, () => {
    throw new DOMException("blocked", "SecurityError");
  });
  blocked.claim(ann, NOW);
  expect(blocked.isNew).toBe(false);
});

test("store: written values are read again, also by another page (W1)", () => {
  const area = new Memory();
  const stored = {
    agreed: "I agree.",
    isOpen: true,
    isWaiting: true,
    unread: 0,
    turns: [turn(1), turn(2, "")],
  };
  storeOn(area).write(stored);
  expect(storeOn(area).read()).toEqual(stored);
});

test("store: a change keeps all other values, also another tab's messages (W1)", () => {
  const area = new Memory();
  const [one, other] = [storeOn(area), storeOn(area)];
  one.write({ agreed: "I agree.", turns: [turn(1)] });
  other.write({ turns: [turn(1), turn(2)] });
  one.write({ isOpen: true });
  expect(other.read()).toEqual({
    agreed: "I agree.",
    isOpen: true,
    isWaiting: false,
    unread: 0,
    turns: [turn(1), turn(2)],
  });
});

test("store: one key, with a version and the address of the service in it (W1)", () => {
  const area = new Memory();
  storeOn(area).write({ turns: [turn(1)] });
  storeOn(area).write({ isOpen: true, agreed: "I agree." });
  expect([...area.items.keys()]).toEqual(["kefu-chat:1:https://api.example/api/chat"]);
  expect(storeOn(area, new URL("https://other.example/api/chat")).read()).toEqual(EMPTY);
});

test("store: ratings are stored; invalid ones are not (W8)", () => {
  const turns = [
    { ...turn(1), rating: "up" },
    { ...turn(2), rating: "none" },
    { ...turn(3), rating: 7 },
  ];
  expect(holding(JSON.stringify({ turns })).read().turns).toEqual([turns[0], turn(2), turn(3)]);
});

test("store: pictures are kept as the service named them, if they are a list (W21)", () => {
  const turns = [
    { ...turn(1), images: [{ id: "1-0" }] },
    { ...turn(2), images: "1-0" },
  ];
  expect(holding(JSON.stringify({ turns })).read().turns).toEqual([turns[0], turn(2)]);
});

const STRANGE = [
  "",
  "{",
  "null",
  "7",
  '"text"',
  "[]",
  "{}",
  '{"turns":7,"isOpen":"yes","agreed":{}}',
  '{"turns":[null,7,"text",[],{}]}',
  '{"turns":[{"id":1,"question":"a","answer":"b","ending":"whole"}]}',
  '{"turns":[{"id":"1","answer":"b","ending":"whole"}]}',
  '{"turns":[{"id":"1","question":"a","answer":null,"ending":"whole"}]}',
  '{"__proto__":{"isOpen":true,"agreed":"no"}}',
  "\u0000".repeat(100),
];

for (const text of STRANGE) {
  test(`store: ${JSON.stringify(text).slice(0, 70)} counts as nothing, and is replaced (W10)`, () => {
    const store = holding(text);
    expect(store.read()).toEqual(EMPTY);
    store.write({ turns: [turn(1)] });
    expect(store.read()).toEqual({ ...EMPTY, turns: [turn(1)] });
  });
}

test("store: of a damaged record the sound turns are read (W10)", () => {
  const store = holding(JSON.stringify({ turns: [turn(1), { ...turn(2), answer: 3 }, turn(4)] }));
  expect(store.read().turns).toEqual([turn(1), turn(4)]);
});

for (const ending of ["open", "disconnected", "unheard of", "toString", undefined, 7]) {
  test(`store: a turn that ended ${String(ending)} is a partial one, never an open one (W1)`, () => {
    const store = holding(JSON.stringify({ turns: [{ ...turn(1, "par"), ending }] }));
    expect(store.read().turns).toEqual([{ ...turn(1, "par"), ending: "disconnected" }]);
  });
}

const BLOCKED: Readonly<Record<string, () => Area | undefined>> = {
  none: () => undefined,
  "denied altogether": () => {
    throw new DOMException("denied", "SecurityError");
  },
  "denied on use": () => ({
    getItem: () => {
      throw new DOMException("denied", "SecurityError");
    },
    setItem: () => {
      throw new DOMException("denied", "SecurityError");
    },
    removeItem: () => {
      throw new DOMException("denied", "SecurityError");
    },
  }),
  "null, as in some web views": () => null as unknown as undefined,
};

for (const [name, area] of Object.entries(BLOCKED)) {
  test(`store: storage that is ${name} is empty, and nothing is thrown (W10)`, () => {
    const store = new Store(API, area);
    store.claim(ann, NOW);
    store.write({ turns: [turn(1)], isOpen: true, agreed: "I agree." });
    expect(store.read()).toEqual(EMPTY);
  });
}

test("store: when the storage is full, its content stays (W10)", () => {
  const area = new Memory(300);
  const store = storeOn(area);
  store.write({ turns: [turn(1)] });
  store.write({ turns: [turn(1), turn(2, "x".repeat(300))] });
  expect(store.read().turns).toEqual([turn(1)]);
});

test("store: at most 100 messages and 60 kB are kept, the newest (W1)", () => {
  for (const text of ["short", "长".repeat(2_000), '"\n'.repeat(3_000)]) {
    const area = new Memory();
    const turns = Array.from({ length: 300 }, (_, i) => turn(i, text));
    storeOn(area).write({ turns });
    const kept = storeOn(area).read().turns;
    expect(kept.length).toBeLessThanOrEqual(50);
    expect(kept.length).toBeGreaterThan(3);
    expect(kept).toEqual(turns.slice(-kept.length));
    const [written = ""] = area.items.values();
    expect(new TextEncoder().encode(written).length).toBeLessThan(60_200);
  }
});

test("store: of a record that somebody made too large, as much is read as is written (W1)", () => {
  const turns = Array.from({ length: 5_000 }, (_, i) => turn(i));
  expect(holding(JSON.stringify({ turns })).read().turns).toEqual(turns.slice(-50));
});

test("store: a record is removed when the user changes, signs in or signs out (T16)", () => {
  for (const [one, next] of [
    [ann, bob],
    [ann, NOBODY],
    [NOBODY, bob],
  ] as const) {
    const area = new Memory();
    const store = storeOn(area);
    store.claim(one, NOW);
    store.write({ agreed: "I agree.", isOpen: true, session: { id: "s" }, turns: [turn(1)] });
    const other = storeOn(area);
    other.claim(next, NOW);
    expect([...area.items]).toEqual([]);
    expect(other.read()).toEqual(EMPTY);
  }
});

test("store: the same user finds the record again, on another page too (T16)", () => {
  const area = new Memory();
  const store = storeOn(area);
  store.claim(ann, NOW);
  store.write({ turns: [turn(1)] });
  const next = storeOn(area);
  next.claim(ann, NOW);
  expect(next.read().turns).toEqual([turn(1)]);
});

test("store: a record that another tab wrote for another user is not read, and not mixed with (T16)", () => {
  const area = new Memory();
  const [one, other] = [storeOn(area), storeOn(area)];
  one.claim(ann, NOW);
  other.claim(bob, NOW);
  one.write({ agreed: "I agree.", turns: [turn(1)] });
  expect(other.read()).toEqual(EMPTY);
  other.write({ isOpen: true });
  expect(one.read()).toEqual(EMPTY);
  expect(other.read()).toEqual({ ...EMPTY, isOpen: true });
});

test("store: for an expired token nothing is read, nothing written, and the record removed (T16)", () => {
  const area = new Memory();
  const store = storeOn(area);
  store.claim(ann, NOW);
  store.write({ turns: [turn(1)] });
  store.claim(ann, ann.expiresAt);
  expect([...area.items]).toEqual([]);
  store.write({ turns: [turn(2)] });
  expect([...area.items]).toEqual([]);
  expect(store.read()).toEqual(EMPTY);
});

test("store: the token of an old tab expires, and the record of a newer one stays (T16)", () => {
  const area = new Memory();
  const [old, newer] = [storeOn(area), storeOn(area)];
  old.claim(ann, NOW);
  old.write({ turns: [turn(1)] });
  const later = { ...ann, expiresAt: ann.expiresAt + 60_000 };
  newer.claim(later, NOW);
  old.claim(ann, ann.expiresAt);
  expect(old.read()).toEqual(EMPTY);
  expect(newer.read().turns).toEqual([turn(1)]);
  newer.claim(later, later.expiresAt);
  expect([...area.items]).toEqual([]);
});

test("store: it tells a record that another tab replaced or removed from any other change (T16)", () => {
  const area = new Memory() as unknown as Storage;
  const store = storeOn(area);
  store.claim(ann, NOW);
  const key = "kefu-chat:1:https://api.example/api/chat";
  const event = (change: Partial<StorageEvent>): StorageEvent =>
    ({ key, storageArea: area, ...change }) as StorageEvent;
  area.setItem(key, JSON.stringify({ user: "ann", turns: [turn(2)] }));
  expect(store.isReplaced(event({}))).toBe(false);
  area.setItem(key, JSON.stringify({ user: "bob", turns: [turn(2)] }));
  expect(store.isReplaced(event({}))).toBe(true);
  expect(store.isReplaced(event({ key: "another of the page" }))).toBe(false);
  expect(store.isReplaced(event({ storageArea: new Memory() as unknown as Storage }))).toBe(false);
  area.removeItem(key);
  expect(store.isReplaced(event({}))).toBe(true);
  expect(store.isReplaced(event({ key: null }))).toBe(true);
});

test("a page whose toJSON throws, as an old library's may, loses no more than the record (W15)", () => {
  const store = storeOn(new Memory());
  Object.assign(Array.prototype, {
    toJSON: () => {
      throw new Error("toJSON");
    },
  });
  try {
    store.write({ turns: [turn(1)] });
  } finally {
    Reflect.deleteProperty(Array.prototype, "toJSON");
  }
  expect(store.read().turns).toEqual([]);
});
