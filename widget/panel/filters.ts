/** The search and the filters of the list of sessions. */

import { button, el } from "./dom.ts";
import { it } from "./insight-texts.ts";
import type { Waiting } from "./state/queue.ts";
import type { Store } from "./state/store.ts";
import { t } from "./texts.ts";

/** The parameters of the API for each choice of the select "Show". */
const ONLY: Readonly<Record<string, readonly [string, string]>> = {
  unanswered: ["unanswered", "true"],
  down: ["rating", "down"],
  up: ["rating", "up"],
  errors: ["has_error", "true"],
  used: ["tool", "used"],
  tool_failed: ["tool", "failed"],
  declined: ["tool", "declined"],
  waiting: ["state", "waiting"],
  person: ["state", "person"],
  closed: ["state", "closed"],
};

const CHIPS = ["waiting", "person", "unanswered", ""] as const;

/** `presets`: those of the service; without any, there is nothing to choose. */
export function filters(presets: readonly string[]): HTMLFormElement {
  const only = choices("only", it.all, Object.entries(it.onlyOf));
  only.ariaLabel = it.only;
  const status = choices("status", t.any, Object.entries(t.statusOf));
  const preset = el(
    "label",
    { hidden: presets.length === 0 },
    it.preset,
    choices(
      "preset",
      t.any,
      presets.map((name) => [name, name]),
    ),
  );
  return el(
    "form",
    { className: "filters", role: "search" },
    el("input", {
      type: "search",
      name: "text",
      autocomplete: "off",
      maxLength: 200,
      placeholder: it.search,
      ariaLabel: it.search,
    }),
    only,
    el(
      "details",
      {},
      el("summary", {}, it.moreFilters),
      el(
        "div",
        { className: "more" },
        el("label", {}, t.from, el("input", { type: "date", name: "since" })),
        el("label", {}, t.to, el("input", { type: "date", name: "until" })),
        el("label", {}, t.status, status),
        preset,
        el("label", { className: "id" }, it.user, plain("user")),
        el("label", { className: "id" }, t.byId, plain("id")),
        el("button", { type: "submit", className: "accent" }, it.apply),
      ),
    ),
  );
}

/** Buttons for the choices of "Only" that an operator needs most, two of them with their numbers. */
export function chips(form: HTMLFormElement, waiting: Store<Waiting>): HTMLElement {
  const only = form.elements.namedItem("only") as HTMLSelectElement;
  const node = el("div", { className: "chips", role: "group", ariaLabel: it.only });
  const draw = () => {
    const { waits, held } = waiting.get();
    const counts: Readonly<Record<string, string>> = { waiting: waits, person: held };
    for (const [at, value] of CHIPS.entries()) {
      const chip = node.children[at] as HTMLElement;
      const count = counts[value] ?? "";
      chip.textContent = count ? `${it.chips[value]} ${count}` : (it.chips[value] ?? value);
      chip.ariaPressed = String(only.value === value);
    }
  };
  for (const value of CHIPS) {
    const choose = () => {
      only.value = value;
      only.dispatchEvent(new Event("change", { bubbles: true }));
    };
    node.append(button({}, choose));
  }
  waiting.follow(draw);
  form.addEventListener("change", draw);
  return node;
}

/** The query of the API. */
export function queryOf(form: HTMLFormElement): URLSearchParams {
  const given = new FormData(form);
  const query = new URLSearchParams();
  const day = (name: string, after: number) => {
    const at = Date.parse(`${given.get(name)}T00:00`);
    if (!Number.isNaN(at)) query.set(name, String(at / 1000 + after));
  };
  day("since", 0);
  day("until", 86_400);
  for (const name of ["text", "status", "preset", "user"]) {
    const value = String(given.get(name) ?? "").trim();
    if (value) query.set(name, value);
  }
  const only = ONLY[String(given.get("only"))];
  if (only) query.set(...only);
  return query;
}

function choices(
  name: string,
  all: string,
  others: readonly (readonly [string, string])[],
): HTMLSelectElement {
  return el(
    "select",
    { name },
    option("", all),
    ...others.map(([value, text]) => option(value, text)),
  );
}

function option(value: string, text: string): HTMLOptionElement {
  return el("option", { value }, text);
}

function plain(name: string): HTMLInputElement {
  return el("input", { name, autocomplete: "off", spellcheck: false });
}
