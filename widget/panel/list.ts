/** The list of sessions: page by page, found by words and filters, and refreshed while it is seen. */

import type { Api } from "./api.ts";
import { commentOf } from "./comment.ts";
import { button, el } from "./dom.ts";
import { filters, offerPresets, queryOf } from "./filters.ts";
import { it } from "./insight-texts.ts";
import { t, tool, whole } from "./texts.ts";
import { time } from "./times.ts";
import type { Row, SessionPage } from "./types.ts";

/** Pause between two refreshes while the page is visible. */
const REFRESH_MS = 20_000;
/** The newest rows, which a refresh reads: on DynamoDB each costs a read unit. */
const REFRESH_ROWS = "15";
/** A search for words without an index reads this many chats before it asks whether to go on. */
const READ_FIRST = 2_000;

export class List {
  readonly node: HTMLElement;
  readonly #api: Api;
  readonly #rows = el("ul", { class: "rows" });
  readonly #more = button({ class: "pill", hidden: true }, () => void this.#load(), t.more);
  readonly #form = filters();
  readonly #note = el("p", { class: "loading", role: "status" });
  readonly #fail: (error: unknown) => void;
  #query = new URLSearchParams();
  #cursor: string | null = null;
  #current = "";
  /** The number of chats that were read, for a search or a filter without an index. */
  #read = 0;
  /** Counts the loads: the answers of earlier loads are dropped. */
  #turn = 0;

  constructor(api: Api, fail: (error: unknown) => void) {
    this.#api = api;
    this.#fail = fail;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.load();
    });
    this.#form.addEventListener("change", (event) => {
      if (event.target instanceof HTMLSelectElement) this.load();
    });
    this.#rows.addEventListener("keydown", (event) => move(event, this.#rows));
    this.node = el("div", { class: "list" }, this.#form, this.#note, this.#rows, this.#more);
    setInterval(() => void this.refresh(), REFRESH_MS);
    document.addEventListener("visibilitychange", () => void this.refresh());
  }

  /** The words of the search whose results are shown. */
  get search(): string {
    return this.#query.get("text") ?? "";
  }

  offer(presets: readonly string[]): void {
    offerPresets(this.#form, presets);
  }

  /** Loads the list again, starting with the newest session. */
  load(): void {
    const id = String(new FormData(this.#form).get("id") ?? "").trim();
    if (id) {
      location.hash = `s=${encodeURIComponent(id)}`;
      return;
    }
    this.#query = queryOf(this.#form);
    this.#cursor = null;
    this.#read = 0;
    this.#rows.replaceChildren();
    void this.#load();
  }

  mark(id: string): void {
    this.#current = id;
    for (const link of this.#rows.querySelectorAll("a")) {
      if (link.hash === `#s=${id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  /** Loads the next page. Loads until there are rows; a search, until it has read enough. */
  async #load(): Promise<void> {
    this.#turn += 1;
    const rowsBefore = this.#rows.childElementCount;
    const turn = this.#turn;
    const readBefore = this.#read;
    this.#more.hidden = true;
    this.#note.textContent = t.loading;
    try {
      for (;;) {
        const page = await this.#api.sessions(this.#asked(this.#cursor));
        if (turn !== this.#turn) return;
        this.#rows.append(...page.rows.map(rowOf));
        this.#cursor = page.cursor;
        // There is no number if the chats were only added to an index.
        this.#read = page.read === null ? 0 : this.#read + page.read;
        this.mark(this.#current);
        const read = this.#read - readBefore;
        const rows = this.#rows.childElementCount - rowsBefore;
        if (!goesOn(page, this.search !== "", read, rows)) break;
        this.#note.textContent = page.waiting
          ? it.indexing(whole(page.waiting))
          : it.reading(whole(this.#read));
      }
      this.#more.textContent = this.#read ? it.older : t.more;
      this.#more.hidden = this.#cursor === null;
      this.#note.textContent = this.#state();
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#note.textContent = "";
      this.#fail(error);
    }
  }

  #state(): string {
    const count = this.#rows.childElementCount;
    const parts = [
      count || this.#cursor ? "" : t.none,
      count && this.#query.size ? it.found(count, this.#cursor !== null) : "",
      this.#read ? (this.#cursor ? it.readNewest : it.readAll)(whole(this.#read)) : "",
    ];
    return parts.filter(Boolean).join(" · ");
  }

  #asked(cursor: string | null): URLSearchParams {
    const query = new URLSearchParams(this.#query);
    if (cursor) query.set("cursor", cursor);
    return query;
  }

  /** Shows new and changed sessions. Repeats no search without an index: it may read many chats. */
  async refresh(): Promise<void> {
    const isSeen = document.visibilityState === "visible" && this.node.isConnected;
    if (!isSeen || this.search || this.#read || this.#note.textContent === t.loading) return;
    const turn = this.#turn;
    try {
      const query = this.#asked(null);
      query.set("limit", REFRESH_ROWS);
      const { rows, cursor, read } = await this.#api.sessions(query);
      if (turn === this.#turn && read === null) this.#merge(rows, cursor === null);
    } catch {
      // The next refresh tries again. An expired pass shows with the operator's next click.
    }
  }

  /** `isWhole`: there are no further rows. */
  #merge(rows: readonly Row[], isWhole: boolean): void {
    const shown = new Map([...this.#rows.children].map((node) => [node.id, node]));
    const focused = document.activeElement?.closest<HTMLElement>(".rows li")?.id;
    for (const gone of this.#unmatched(rows, isWhole)) gone.remove();
    for (const [at, row] of rows.entries()) {
      const fresh = rowOf(row);
      const known = shown.get(fresh.id);
      const isSame = known instanceof HTMLElement && known.dataset.state === fresh.dataset.state;
      const node = isSame ? known : fresh;
      if (known && !isSame) known.remove();
      const place = this.#rows.children[at] ?? null;
      if (place !== node) this.#rows.insertBefore(node, place);
    }
    this.mark(this.#current);
    if (focused) document.getElementById(focused)?.querySelector("a")?.focus();
    if (!this.#query.size) this.#note.textContent = rows.length ? "" : t.none;
    else this.#note.textContent = this.#state();
  }

  /** The rows that are shown but are no longer among the newest rows: deleted, or changed. */
  #unmatched(rows: readonly Row[], isWhole: boolean): Element[] {
    const found = new Set(rows.map(({ id }) => `row-${id}`));
    const last = isWhole ? 0 : (rows.at(-1)?.updated_at ?? Number.POSITIVE_INFINITY);
    return [...this.#rows.children].filter((node) => {
      const known = node instanceof HTMLElement ? JSON.parse(node.dataset.state ?? "{}") : {};
      return !found.has(node.id) && known.updated_at > last;
    });
  }
}

/** Whether to load the next page at once. `read`, `rows`: the sessions of one loading. */
export function goesOn(page: SessionPage, isSearch: boolean, read: number, rows: number): boolean {
  if (page.cursor === null) return false;
  if (page.waiting > 0) return true;
  return page.read !== null && page.read > 0 && (isSearch ? read < READ_FIRST : rows === 0);
}

function rowOf(row: Row): HTMLElement {
  const wrong = row.status !== "ok" && (t.statusOf[row.status] ?? row.status);
  const { state } = row.attendance;
  const marks = [
    row.errors > 0 && t.errorsN(row.errors),
    wrong,
    row.unanswered > 0 && it.unansweredN(row.unanswered),
    row.tool_failures > 0 && tool.failedN(row.tool_failures),
    row.declined > 0 && tool.declinedN(row.declined),
    row.downs > 0 && it.downN(row.downs),
  ].filter((mark) => mark !== false);
  const facts = ` · ${t.turns(row.turns)} · ${t.tokensN(whole(row.tokens))}`;
  return el(
    "li",
    { id: `row-${row.id}`, "data-state": JSON.stringify(row) },
    el(
      "a",
      { href: `#s=${row.id}` },
      el("strong", {}, el("bdi", {}, row.title)),
      row.line !== row.title &&
        row.line !== "" &&
        el(
          "span",
          { class: "row-line" },
          row.line_by && `${row.line_by}: `,
          el("bdi", {}, row.line),
        ),
      el("span", { class: "row-facts" }, time(row.updated_at), facts),
      (marks.length > 0 || state !== "bot") &&
        el(
          "span",
          { class: "marks" },
          state !== "bot" && el("span", { class: `status ${state}` }, t.stateOf[state] ?? state),
          state === "waiting" && time(row.attendance.since),
          ...marks.map((mark) => el("span", { class: "status" }, mark)),
        ),
      row.comment && commentOf(row.comment),
    ),
  );
}

/** Arrow keys go through the list. */
function move(event: KeyboardEvent, rows: HTMLElement): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const links = [...rows.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement as HTMLAnchorElement);
  if (!step || at < 0) return;
  event.preventDefault();
  links[at + step]?.focus();
}
