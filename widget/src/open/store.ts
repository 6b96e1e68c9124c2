/**
 * Stores the conversation for the visitor's next page: one record in the browser's storage. The
 * record belongs to one user of the site, or to an anonymous visitor; others cannot read or extend it.
 *
 * Storage may be blocked, full, or contain anything. Without storage the conversation lasts as long
 * as its page, without an error.
 */

import { KEY } from "../kept-open.ts";
import { ENGLISH } from "./english.ts";
import { type Identity, NOBODY } from "./identity.ts";
import { own } from "./own.ts";
import { sourcesOf } from "./sources.ts";
import { newest } from "./transport/history.ts";
import type { Ending, Turn } from "./turn.ts";

export type Persist = "session" | "local" | "none";

export interface Stored {
  /** The text that the visitor accepted. A changed text must be accepted again. */
  readonly agreed: string | undefined;
  readonly isOpen: boolean;
  /** Whether the visitor waits for a person, or talks to a person. */
  readonly isWaiting: boolean;
  /** The number of answers that ended while the panel was closed. */
  readonly unread: number;
  readonly turns: readonly Turn[];
  /** The session of a stored chat; only the code for stored chats interprets it. */
  readonly session: unknown;
}

export type Area = Pick<Storage, "getItem" | "setItem" | "removeItem">;

export class Store {
  readonly #key: string;
  readonly #area: () => Area | undefined;
  #owner = NOBODY;
  #isOn = true;
  #written: string | undefined;

  /** `area` returns the storage and may throw; called each time, as access may be revoked. */
  constructor(apiUrl: URL, area: () => Area | undefined) {
    this.#key = KEY + apiUrl;
    this.#area = area;
  }

  /**
   * Sets the owner. A record of another user is removed. If `owner` has expired, nothing is read or
   * written, and the record is removed as well, unless the owner is unchanged and another tab has
   * written the record with a later token. Never throws.
   */
  claim(owner: Identity, now: number): void {
    const wasServed = owner.user === this.#owner.user;
    this.#owner = owner;
    this.#isOn = now < owner.expiresAt;
    const record = this.#record();
    if (record === null) return;
    const isMine = this.#isMine(record);
    if (isMine && this.#isOn) {
      // The user's other tabs may have tokens that expire earlier.
      if (owner.user !== undefined) this.write({});
    } else if (!(isMine && wasServed && now < untilOf(record))) {
      try {
        this.#area()?.removeItem(this.#key);
      } catch {
        // Storage is blocked.
      }
    }
  }

  /** Whether a signed-in user has stored nothing in this browser yet. Never throws. */
  get isNew(): boolean {
    const isEmpty = this.#isOn && this.#owner.user !== undefined && this.#record() === null;
    return isEmpty && !!this.#area();
  }

  /** Whether another tab has removed the record, or written another user's record. Never throws. */
  isReplaced({ key, storageArea }: StorageEvent): boolean {
    try {
      if (storageArea !== this.#area() || (key !== null && key !== this.#key)) return false;
      const record = this.#record();
      return record === null || !this.#isMine(record);
    } catch {
      return false;
    }
  }

  /** Whether another page has written the record. Never throws. */
  get isStale(): boolean {
    try {
      return (this.#area()?.getItem(this.#key) ?? this.#written) !== this.#written;
    } catch {
      return false;
    }
  }

  /** The stored values; invalid values are left out. Never throws. */
  read(): Stored {
    const record = this.#record();
    const value = this.#isOn && this.#isMine(record) ? record : undefined;
    const agreed = own(value, "agreed");
    const turns = own(value, "turns");
    return {
      agreed: typeof agreed === "string" ? agreed : undefined,
      isOpen: own(value, "isOpen") === true,
      isWaiting: own(value, "isWaiting") === true,
      unread: Number(own(value, "unread")) || 0,
      session: own(value, "session"),
      turns: bounded(Array.isArray(turns) ? turns.flatMap(turnOf) : []),
    };
  }

  /** Reads the record again and changes it: another tab may have changed it. Never throws. */
  write(change: Partial<Stored>): void {
    if (!this.#isOn) return;
    const { user, expiresAt: until } = this.#owner;
    const stored = { ...this.read(), ...change, user, until };
    try {
      const written = JSON.stringify({ ...stored, turns: bounded(stored.turns) });
      this.#area()?.setItem(this.#key, written);
      this.#written = written;
    } catch {
      // Storage is blocked or full.
    }
  }

  /** The record; null if there is none, undefined if it cannot be read. */
  #record(): unknown {
    try {
      return JSON.parse(this.#area()?.getItem(this.#key) ?? "null");
    } catch {
      // Storage is blocked, or the record is not JSON.
      return undefined;
    }
  }

  #isMine(record: unknown): boolean {
    return own(record, "user") === this.#owner.user;
  }
}

/** The expiry of the token of the tab that wrote the record last. */
function untilOf(record: unknown): number {
  return Number(own(record, "until")) || 0;
}

export function areaOf(page: Window, persist: Persist): Area | undefined {
  if (persist === "none") return undefined;
  return persist === "local" ? page.localStorage : page.sessionStorage;
}

function bounded(turns: readonly Turn[]): readonly Turn[] {
  return newest(turns, () => 2);
}

const isText = (value: unknown): boolean => typeof value === "string";

/** The fields that a turn may lack, and whether a value is valid. */
const OPTIONAL: Readonly<Record<string, (value: unknown) => boolean>> = {
  first: isText,
  at: Number.isFinite,
  rating: (value) => value === "up" || value === "down",
  person: isText,
  images: Array.isArray,
  events: Array.isArray,
};

/** A stored turn without an ending was in progress when its page was left. */
function turnOf(value: unknown): Turn[] {
  const texts = ["id", "question", "answer"].map((name) => own(value, name));
  if (!texts.every(isText)) return [];
  const [id, question, answer] = texts as [string, string, string];
  const ending = own(value, "ending");
  const optional = Object.entries(OPTIONAL).flatMap(([name, isValid]) => {
    const field = own(value, name);
    return isValid(field) ? [[name, field]] : [];
  });
  const [pages, links, cited] = ["pages", "links", "cited"].map((name) =>
    own(own(value, "sources"), name),
  );
  const sources = sourcesOf(pages, links, cited);
  return [
    {
      id,
      question,
      answer,
      ending: isEnding(ending) ? ending : "disconnected",
      ...Object.fromEntries(optional),
      ...(sources && { sources }),
    },
  ];
}

function isEnding(value: unknown): value is Ending {
  return typeof value === "string" && Object.hasOwn(ENGLISH.endings, value);
}
