/** The list of sessions, with its filters. */

import type { Api } from "./api.ts";
import { button, el } from "./dom.ts";
import { moment, t, whole } from "./texts.ts";
import type { Row } from "./types.ts";

export class List {
  readonly node: HTMLElement;
  readonly #api: Api;
  readonly #rows = el("ul", { class: "rows" });
  readonly #more = button({ class: "pill", hidden: true }, () => void this.#load(), t.more);
  readonly #form: HTMLFormElement;
  readonly #note = el("p", { class: "loading", role: "status" });
  readonly #fail: (error: unknown) => void;
  #cursor: string | null = null;
  #current = "";

  constructor(api: Api, fail: (error: unknown) => void) {
    this.#api = api;
    this.#fail = fail;
    this.#form = form();
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.load();
    });
    this.#rows.addEventListener("keydown", (event) => move(event, this.#rows));
    this.node = el("div", { class: "list" }, this.#form, this.#rows, this.#note, this.#more);
  }

  /** Loads the list again, starting with the newest session. */
  load(): void {
    const id = String(new FormData(this.#form).get("id") ?? "").trim();
    if (id) {
      location.hash = `s=${encodeURIComponent(id)}`;
      return;
    }
    this.#cursor = null;
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

  async #load(): Promise<void> {
    this.#note.textContent = t.loading;
    try {
      const page = await this.#api.sessions(this.#query());
      this.#rows.append(...page.rows.map(rowOf));
      this.#cursor = page.cursor;
      this.#more.hidden = page.cursor === null;
      this.#note.textContent = this.#rows.childElementCount || page.cursor ? "" : t.none;
      this.mark(this.#current);
    } catch (error) {
      this.#note.textContent = "";
      this.#fail(error);
    }
  }

  #query(): URLSearchParams {
    const given = new FormData(this.#form);
    const query = new URLSearchParams();
    const day = (name: string, after: number) => {
      const at = Date.parse(`${given.get(name)}T00:00`);
      if (!Number.isNaN(at)) query.set(name, String(at / 1000 + after));
    };
    day("since", 0);
    day("until", 86_400);
    if (given.get("status")) query.set("status", String(given.get("status")));
    if (given.get("state")) query.set("state", String(given.get("state")));
    if (given.get("has_error")) query.set("has_error", "true");
    if (this.#cursor) query.set("cursor", this.#cursor);
    return query;
  }
}

function form(): HTMLFormElement {
  const status = el("select", { name: "status" }, el("option", { value: "" }, t.any));
  for (const [value, name] of Object.entries(t.statusOf))
    status.append(el("option", { value }, name));
  return el(
    "form",
    { class: "filters" },
    el("label", {}, t.from, el("input", { type: "date", name: "since" })),
    el("label", {}, t.to, el("input", { type: "date", name: "until" })),
    el("label", {}, t.status, status),
    el("label", {}, t.answeredBy, states()),
    el("label", { class: "check" }, el("input", { type: "checkbox", name: "has_error" }), t.errors),
    el(
      "label",
      { class: "id" },
      t.byId,
      el("input", { name: "id", autocomplete: "off", spellcheck: "false" }),
    ),
    el("button", { type: "submit", class: "accent" }, t.apply),
  );
}

function states(): HTMLSelectElement {
  const select = el("select", { name: "state" }, el("option", { value: "" }, t.any));
  for (const [value, name] of Object.entries(t.stateOf))
    select.append(el("option", { value }, name));
  return select;
}

function rowOf(row: Row): HTMLElement {
  const wrong = row.status !== "ok" && (t.statusOf[row.status] ?? row.status);
  const { state } = row.attendance;
  return el(
    "li",
    {},
    el(
      "a",
      { href: `#s=${row.id}` },
      el("strong", {}, row.title),
      el(
        "span",
        { class: "row-facts" },
        `${moment(row.updated_at)} · ${t.turns(row.turns)} · ${t.tokensN(whole(row.tokens))}`,
      ),
      (row.errors > 0 || wrong || state !== "bot") &&
        el(
          "span",
          { class: "marks" },
          state !== "bot" && el("span", { class: `status ${state}` }, t.stateOf[state] ?? state),
          row.errors > 0 && el("span", { class: "status" }, t.errorsN(row.errors)),
          wrong && el("span", { class: "status" }, wrong),
        ),
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
