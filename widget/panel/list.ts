/** The list of sessions, with its search and its filters. */

import { commentOf } from "./comment.ts";
import { button, el } from "./dom.ts";
import { filters, offerPresets, queryOf } from "./filters.ts";
import { it } from "./insight-texts.ts";
import { Rows } from "./rows.ts";
import type { Listed } from "./state/inbox.ts";
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
  current: Store<string>,
  presets: readonly string[],
  acts: ListActs,
): HTMLElement {
  const rows = new Rows<Row>(el("ul", { className: "rows" }), rowOf);
  const more = button({ className: "pill", hidden: true }, () => acts.more());
  const note = el("p", { className: "loading", role: "status" });
  const form = filters();
  offerPresets(form, presets);
  const search = () => {
    const id = String(new FormData(form).get("id") ?? "").trim();
    if (id) acts.open(id);
    else acts.load(queryOf(form));
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  form.addEventListener("change", (event) => {
    if (event.target instanceof HTMLSelectElement) search();
  });
  listed.follow((now) => {
    rows.draw(now.rows);
    mark(rows.node, current.get());
    more.textContent = now.read ? it.older : t.more;
    more.hidden = now.cursor === null || now.status === "loading";
    note.textContent = noteOf(now);
  });
  current.listen((id) => mark(rows.node, id));
  const node = el("div", { className: "list" }, form, note, rows.node, more);
  rows.node.addEventListener("keydown", (event) => move(event, node));
  return node;
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
    { id: `row-${row.id}` },
    el(
      "a",
      { href: `#s=${row.id}` },
      el("strong", {}, el("bdi", {}, row.title)),
      row.line !== row.title &&
        row.line !== "" &&
        el(
          "span",
          { className: "row-line" },
          row.line_by && `${row.line_by}: `,
          el("bdi", {}, row.line),
        ),
      el("span", { className: "row-facts" }, time(row.updated_at), facts),
      (marks.length > 0 || state !== "bot") &&
        el(
          "span",
          { className: "marks" },
          state !== "bot" &&
            el("span", { className: `status ${state}` }, t.stateOf[state] ?? state),
          state === "waiting" && time(row.attendance.since),
          ...marks.map((mark) => el("span", { className: "status" }, mark)),
        ),
      row.comment && commentOf(row.comment),
    ),
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
