/** The list of sessions: page by page, found by words and filters, and refreshed while it is seen. */

import type { Row, SessionPage } from "../types.ts";
import { Store } from "./store.ts";

/** Pause between two refreshes while the page is visible. */
const REFRESH_MS = 20_000;
/** The newest rows, which a refresh reads: on DynamoDB each costs a read unit. */
const REFRESH_ROWS = "15";
/** A search for words without an index reads this many chats before it asks whether to go on. */
const READ_FIRST = 2_000;

export interface Listed {
  readonly query: URLSearchParams;
  readonly rows: readonly Row[];
  readonly cursor: string | null;
  /** The number of chats that were read, for a search or a filter without an index. */
  readonly read: number;
  /** The number of messages to be indexed before the search. */
  readonly waiting: number;
  readonly status: "loading" | "ready" | "failed";
}

const NOTHING: Listed = {
  query: new URLSearchParams(),
  rows: [],
  cursor: null,
  read: 0,
  waiting: 0,
  status: "ready",
};

type Ask = (query: URLSearchParams) => Promise<SessionPage>;

export class Inbox {
  readonly state = new Store(NOTHING);
  readonly #ask: Ask;
  readonly #fail: (error: unknown) => void;
  /** Counts the loads: the answers of earlier loads are dropped. */
  #turn = 0;

  /** `isSeen`: whether the list is on the screen; only then it is refreshed. */
  constructor(ask: Ask, isSeen: () => boolean, fail: (error: unknown) => void) {
    this.#ask = ask;
    this.#fail = fail;
    const refresh = () => void (isSeen() && this.refresh());
    setInterval(refresh, REFRESH_MS);
    document.addEventListener("visibilitychange", refresh);
  }

  /** The words of the search whose results are shown. */
  get search(): string {
    return this.state.get().query.get("text") ?? "";
  }

  /** Loads the list again, starting with the newest session. */
  load(query = this.state.get().query): void {
    this.state.set({ ...NOTHING, query });
    void this.more();
  }

  /** Loads the next page. Loads until there are rows; a search, until it has read enough. */
  async more(): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    const before = this.state.get();
    this.state.patch({ status: "loading" });
    try {
      for (;;) {
        const now = this.state.get();
        const page = await this.#ask(asked(now.query, now.cursor));
        if (turn !== this.#turn) return;
        // A chat may have moved since the page before.
        const known = new Set(now.rows.map(({ id }) => id));
        const rows = [...now.rows, ...page.rows.filter(({ id }) => !known.has(id))];
        // There is no number if the chats were only added to an index.
        const read = page.read === null ? 0 : now.read + page.read;
        const added = rows.length - before.rows.length;
        const isMore = goesOn(page, this.search !== "", read - before.read, added);
        const status = isMore ? "loading" : "ready";
        this.state.patch({ rows, read, status, cursor: page.cursor, waiting: page.waiting });
        if (!isMore) return;
      }
    } catch (error) {
      if (turn !== this.#turn) return;
      this.state.patch({ status: "failed" });
      this.#fail(error);
    }
  }

  /** Shows new and changed sessions. Repeats no search without an index: it may read many chats. */
  async refresh(): Promise<void> {
    const { query, read: wasRead, status } = this.state.get();
    if (this.search || wasRead || status === "loading") return;
    const turn = this.#turn;
    try {
      const newest = asked(query, null);
      newest.set("limit", REFRESH_ROWS);
      const { rows, cursor, read } = await this.#ask(newest);
      if (turn !== this.#turn || read !== null) return;
      const merged = mergedRows(this.state.get().rows, rows, cursor === null);
      this.state.patch({ rows: merged, status: "ready" });
    } catch {
      // The next refresh tries again. An expired pass shows with the operator's next click.
    }
  }
}

function asked(query: URLSearchParams, cursor: string | null): URLSearchParams {
  const copy = new URLSearchParams(query);
  if (cursor) copy.set("cursor", cursor);
  return copy;
}

/**
 * The shown rows with the newest ones. Drops those that are no longer among the newest: deleted, or
 * changed. `isWhole`: there are no further rows.
 */
export function mergedRows(shown: readonly Row[], newest: readonly Row[], isWhole: boolean): Row[] {
  const found = new Set(newest.map(({ id }) => id));
  const last = isWhole ? 0 : (newest.at(-1)?.updated_at ?? Number.POSITIVE_INFINITY);
  const left = shown.filter(({ id, updated_at }) => !found.has(id) && updated_at <= last);
  return [...newest, ...left];
}

/** Whether to load the next page at once. `read`, `rows`: the sessions of one loading. */
export function goesOn(page: SessionPage, isSearch: boolean, read: number, rows: number): boolean {
  if (page.cursor === null) return false;
  if (page.waiting > 0) return true;
  return page.read !== null && page.read > 0 && (isSearch ? read < READ_FIRST : rows === 0);
}
