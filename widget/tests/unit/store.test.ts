/** What is kept for the next page, in storage that does what it likes. */

import { expect, test } from "vitest";
import type { Turn } from "../../src/conversation.ts";
import { type Area, Store } from "../../src/store.ts";

const API = new URL("https://api.example/api/chat");
const EMPTY = { agreed: undefined, isOpen: false, turns: [] };

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

test("store: what was written is read again, by another page too (W1)", () => {
  const area = new Memory();
  const stored = { agreed: "I agree.", isOpen: true, turns: [turn(1), turn(2, "")] };
  storeOn(area).write(stored);
  expect(storeOn(area).read()).toEqual(stored);
});

test("store: a change leaves alone what it does not name, another tab's messages too (W1)", () => {
  const area = new Memory();
  const [one, other] = [storeOn(area), storeOn(area)];
  one.write({ agreed: "I agree.", turns: [turn(1)] });
  other.write({ turns: [turn(1), turn(2)] });
  one.write({ isOpen: true });
  expect(other.read()).toEqual({ agreed: "I agree.", isOpen: true, turns: [turn(1), turn(2)] });
});

test("store: one key, with a version and the address of the service in it (W1)", () => {
  const area = new Memory();
  storeOn(area).write({ turns: [turn(1)] });
  storeOn(area).write({ isOpen: true, agreed: "I agree." });
  expect([...area.items.keys()]).toEqual(["kefu-chat:1:https://api.example/api/chat"]);
  expect(storeOn(area, new URL("https://other.example/api/chat")).read()).toEqual(EMPTY);
});

test("store: what the visitor thinks of an answer is kept; of what is no rating nothing is (W8)", () => {
  const turns = [
    { ...turn(1), rating: "up" },
    { ...turn(2), rating: "none" },
    { ...turn(3), rating: 7 },
  ];
  expect(holding(JSON.stringify({ turns })).read().turns).toEqual([turns[0], turn(2), turn(3)]);
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
  }),
  "null, as in some web views": () => null as unknown as undefined,
};

for (const [name, area] of Object.entries(BLOCKED)) {
  test(`store: storage that is ${name} is empty, and nothing is thrown (W10)`, () => {
    const store = new Store(API, area);
    store.write({ turns: [turn(1)], isOpen: true, agreed: "I agree." });
    expect(store.read()).toEqual(EMPTY);
  });
}

test("store: when the storage is full, what it held stays (W10)", () => {
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
