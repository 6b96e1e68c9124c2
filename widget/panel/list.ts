/** The list of sessions, with its search and its filters. */

import { commentOf } from "./comment.ts";
import { button, el } from "./dom.ts";
import { chips, filters, queryOf } from "./filters.ts";
import { it } from "./insight-texts.ts";
import { Rows } from "./rows.ts";
import type { Listed } from "./state/inbox.ts";
import type { Waiting } from "./state/queue.ts";
import type { Store } from "./state/store.ts";
import { t, tool, whole } from "./texts.ts";
import { time } from "./times.ts";
import type { Row } from "./types.ts";

export interface ListActs {
  /** Loads the sessions of a query. */
  load(query: URLSearchParams): void;
  /** Loads the next page. */
  more(): void;
  open(id: string): void;
}

/** `current`: the id of the session that is open; "" for none. */
export function listView(
  listed: Store<Listed>,
  waiting: Store<Waiting>,
  current: Store<string>,
  presets: readonly string[],
  acts: ListActs,
): HTMLElement {
  const rows = new Rows<Row>(el("ul", { className: "rows" }), rowOf);
  const more = button({ className: "pill", hidden: true }, () => acts.more());
  const note = el("p", { className: "loading", role: "status" });
  const form = filters(presets);
  const search = () => {
    const field = form.elements.namedItem("id") as HTMLInputElement;
    const id = field.value.trim();
    // Else it would open that session again, instead of the next search.
    field.value = "";
    if (id) return acts.open(id);
    const query = queryOf(form);
    const now = listed.get();
    // Enter in an empty search is an event of the field and of the form.
    if (now.status !== "loading" || `${query}` !== `${now.query}`) acts.load(query);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  form.addEventListener("change", (event) => {
    if (event.target instanceof HTMLSelectElement) search();
  });
  // The field's own button empties it, and so does Escape.
  form.addEventListener("search", (event) => {
    if (!(event.target as HTMLInputElement).value) search();
  });
  const draw = () => {
    const { query, rows: found } = listed.get();
    rows.draw(query.size ? found : waitingFirst(waiting.get().rows, found));
    mark(rows.node, current.get());
  };
  waiting.listen(draw);
  listed.follow((now) => {
    draw();
    more.textContent = now.read ? it.older : t.more;
    more.hidden = now.cursor === null || now.status === "loading";
    note.textContent = noteOf(now);
  });
  current.listen((id) => mark(rows.node, id));
  const node = el("div", { className: "list" }, chips(form, waiting), form, note, rows.node, more);
  rows.node.addEventListener("keydown", (event) => move(event, node));
  return node;
}

/** The operator's own chats that wait come first, then the others, each with the longest wait on top. */
export function waitingFirst(waiting: readonly Row[], rows: readonly Row[]): Row[] {
  const rank = ({ attendance }: Row) => Number(attendance.state === "waiting");
  const known = new Map(rows.map((row) => [row.id, row]));
  // A row is newer than the queue if somebody has taken the chat since.
  const first = waiting
    .filter(({ id, attendance }) => (known.get(id)?.attendance.since ?? 0) <= attendance.since)
    .toSorted((a, b) => rank(a) - rank(b) || a.attendance.since - b.attendance.since);
  const ids = new Set(first.map(({ id }) => id));
  return [...first, ...rows.filter(({ id }) => !ids.has(id))];
}

function noteOf({ status, rows, query, cursor, read, waiting }: Listed): string {
  if (status === "failed") return "";
  if (status === "loading") {
    if (waiting) return it.indexing(whole(waiting));
    return read ? it.reading(whole(read)) : t.loading;
  }
  const parts = [
    rows.length || cursor ? "" : t.none,
    rows.length && query.size ? it.found(rows.length, cursor !== null) : "",
    read ? (cursor ? it.readNewest : it.readAll)(whole(read)) : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

function mark(rows: HTMLElement, id: string): void {
  for (const link of rows.querySelectorAll("a")) {
    link.ariaCurrent = link.hash === `#s=${id}` ? "true" : null;
  }
}

function rowOf(row: Row): HTMLElement {
  const wrong = row.status !== "ok" && (t.statusOf[row.status] ?? row.status);
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
    { id: `row-${row.id}` },
    el(
      "a",
      { href: `#s=${row.id}` },
      el(
        "span",
        { className: "row-head" },
        el("strong", {}, el("bdi", {}, row.title)),
        attendance(row),
      ),
      row.request && el("q", { className: "row-line", dir: "auto" }, row.request),
      row.line !== row.title &&
        row.line !== "" &&
        el(
          "span",
          { className: "row-line" },
          row.line_by && `${row.line_by}: `,
          el("bdi", {}, row.line),
        ),
      el("span", { className: "row-facts" }, time(row.updated_at), facts),
      marks.length > 0 &&
        el(
          "span",
          { className: "marks" },
          ...marks.map((mark) => el("span", { className: "status" }, mark)),
        ),
      row.comment && commentOf(row.comment),
    ),
  );
}

/** Who has a chat, or since when its visitor waits. */
function attendance({ attendance: { state, operator, since } }: Row): HTMLElement | false {
  if (state === "bot") return false;
  const text = state === "person" ? t.withOperator(operator) : (t.stateOf[state] ?? state);
  return el(
    "span",
    { className: `status ${state}` },
    text,
    state === "waiting" && " · ",
    state === "waiting" && time(since),
  );
}

/** Arrow keys go through the list. */
function move(event: KeyboardEvent, rows: HTMLElement): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by || !rows.contains(document.activeElement)) return;
  event.preventDefault();
  stepIn(rows, by);
}

/** Puts the focus on the next link of `node`, or on the one before: from the focused or open one. */
export function stepIn(node: HTMLElement, by: number): void {
  const links = [...node.querySelectorAll<HTMLElement>(".rows a")];
  const focused = links.indexOf(document.activeElement as HTMLElement);
  const open = links.findIndex((link) => link.ariaCurrent);
  const next = focused < 0 && open < 0 ? 0 : (focused < 0 ? open : focused) + by;
  links[next]?.focus();
}
