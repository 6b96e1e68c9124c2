/**
 * What is kept when the visitor goes on to another page: one record in the browser's storage.
 *
 * Storage may be blocked, full, or hold anything at all. None of that is the visitor's problem:
 * then the conversation lives as long as its page.
 */

import type { Ending, Turn } from "./conversation.ts";
import { newest } from "./history.ts";
import { own } from "./own.ts";
import { ENGLISH } from "./texts.ts";

export type Persist = "session" | "local" | "none";

export interface Stored {
  /** What the visitor agreed to, word for word: another text has to be agreed to anew. */
  readonly agreed: string | undefined;
  readonly isOpen: boolean;
  readonly turns: readonly Turn[];
  /** Of the chat that the service keeps; understood where kept chats are. */
  readonly session: unknown;
}

export type Area = Pick<Storage, "getItem" | "setItem">;

/** Part of the key: a record of another shape is never read. */
const VERSION = 1;

export class Store {
  readonly #key: string;
  readonly #area: () => Area | undefined;

  /** `area` may throw, and is asked each time: a page may lose its storage while it is shown. */
  constructor(apiUrl: URL, area: () => Area | undefined) {
    this.#key = keyOf(apiUrl);
    this.#area = area;
  }

  /** What was kept, as far as it can be understood. Never throws. */
  read(): Stored {
    let value: unknown;
    try {
      value = JSON.parse(this.#area()?.getItem(this.#key) ?? "null");
    } catch {
      // Blocked, or no JSON.
    }
    const agreed = own(value, "agreed");
    const turns = own(value, "turns");
    return {
      agreed: typeof agreed === "string" ? agreed : undefined,
      isOpen: own(value, "isOpen") === true,
      session: own(value, "session"),
      turns: bounded(Array.isArray(turns) ? turns.flatMap(turnOf) : []),
    };
  }

  /** Changes the record as it is now: another tab may have written since. Never throws. */
  write(change: Partial<Stored>): void {
    const stored = { ...this.read(), ...change };
    try {
      this.#area()?.setItem(this.#key, JSON.stringify({ ...stored, turns: bounded(stored.turns) }));
    } catch {
      // Blocked or full.
    }
  }
}

function keyOf(apiUrl: URL | string): string {
  return `kefu-chat:${VERSION}:${apiUrl}`;
}

/**
 * Whether the chat was left open, as the loader sees it: all else is for the chat to read. Throws
 * where there is no storage.
 */
export function isKeptOpen(page: Window, apiUrl: string, persist: unknown): boolean {
  const area = persist === "local" ? page.localStorage : page.sessionStorage;
  return /"isOpen":true/.test(area[keyOf(apiUrl)]);
}

export function areaOf(page: Window, persist: Persist): Area | undefined {
  if (persist === "none") return undefined;
  return persist === "local" ? page.localStorage : page.sessionStorage;
}

function bounded(turns: readonly Turn[]): readonly Turn[] {
  return newest(turns, () => 2);
}

/** A turn that had no end is one that its page was left in. */
function turnOf(value: unknown): Turn[] {
  const texts = ["id", "question", "answer"].map((name) => own(value, name));
  if (texts.some((text) => typeof text !== "string")) return [];
  const [id, question, answer] = texts as [string, string, string];
  const ending = own(value, "ending");
  const rating = own(value, "rating");
  return [
    {
      id,
      question,
      answer,
      ending: isEnding(ending) ? ending : "disconnected",
      ...((rating === "up" || rating === "down") && { rating }),
    },
  ];
}

function isEnding(value: unknown): value is Ending {
  return typeof value === "string" && Object.hasOwn(ENGLISH.endings, value);
}
