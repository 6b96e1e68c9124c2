/** The current state of the keys, and the sums of the last days. */

import { el, svg } from "./dom.ts";
import { money, seconds, t, whole } from "./texts.ts";
import type { About, Day, Key } from "./types.ts";

export function keysView(keys: readonly Key[]): HTMLElement {
  const node = el("div", { class: "sums" }, el("h2", { tabindex: -1 }, t.keys));
  if (!keys.length) return append(node, el("p", {}, t.noKeys));
  const body = el("tbody");
  for (const key of keys) {
    const left = key.seconds_left > 0 ? t.left(seconds(key.seconds_left)) : "";
    const tries = Object.entries(key.outcomes);
    body.append(
      el(
        "tr",
        {},
        el("th", { scope: "row" }, el("code", {}, key.key)),
        el(
          "td",
          {},
          el("span", { class: `state ${key.status}` }, t.state[key.status] ?? key.status),
          ` ${left}`,
        ),
        el("td", { class: "number" }, whole(key.rate_limited)),
        el("td", { class: "number" }, whole(key.failing)),
        el("td", {}, tries.map(([name, n]) => `${name} ${whole(n)}`).join(", ") || "–"),
      ),
    );
  }
  const table = el("table", {}, header([t.key, t.status, "429", "5xx", t.tries]), body);
  return append(node, scrolled(table), el("p", { class: "muted" }, t.keysHint));
}

export function daysView(days: readonly Day[], about: About | undefined): HTMLElement {
  const node = el("div", { class: "sums" }, el("h2", { tabindex: -1 }, `${t.totals}, ${t.days}`));
  append(node, ...storeLines(about));
  if (!days.length) return append(node, el("p", {}, t.noDays));
  const priced = about && (about.price_input !== null || about.price_output !== null);
  const body = el("tbody");
  for (const day of days.toReversed()) {
    const tokens = day.prompt_tokens + day.completion_tokens;
    const spent =
      (day.prompt_tokens * (about?.price_input ?? 0) +
        day.completion_tokens * (about?.price_output ?? 0)) /
      1e6;
    body.append(
      el(
        "tr",
        {},
        el("th", { scope: "row" }, day.date),
        ...[day.turns, day.errors, tokens].map((n) => el("td", { class: "number" }, whole(n))),
        priced && el("td", { class: "number" }, money(spent)),
      ),
    );
  }
  const names = [t.date, t.dayTurns, t.dayErrors, t.dayTokens, ...(priced ? [t.cost] : [])];
  return append(node, plot(days), scrolled(el("table", {}, header(names), body)));
}

/** How full the store is, and the features that are switched off because of that. */
export function storeLines(about: About | undefined): HTMLElement[] {
  if (!about?.store) return [];
  const { used, limit, level } = about.store;
  const off = t.storeLevel[level];
  const lines = [el("p", { class: "store muted" }, t.store(megabytes(used), megabytes(limit)))];
  return off ? [...lines, el("p", { class: "trouble" }, off)] : lines;
}

function megabytes(bytes: number): string {
  return whole(Math.ceil(bytes / 1e6));
}

/** A bar for each of the last 30 days: the number of turns, and of those that failed. */
function plot(days: readonly Day[]): SVGElement {
  const most = Math.max(1, ...days.map(({ turns }) => turns));
  const now = new Date();
  const today = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  const sum = days.reduce((all, { turns }) => all + turns, 0);
  const label = `${t.days}: ${t.turns(sum)}`;
  const node = svg("svg", {
    class: "plot",
    viewBox: "0 0 600 150",
    role: "img",
    "aria-label": label,
  });
  node.append(svg("line", { class: "axis", x1: 0, x2: 600, y1: 130.5, y2: 130.5 }));
  for (const day of days) {
    const ago = Math.round((today - Date.parse(day.date)) / 86_400_000);
    const x = 20 * (29 - ago) + 3;
    if (x < 0 || x > 600) continue;
    const [height, wrong] = [day.turns, day.errors].map((n) => (118 * n) / most) as [
      number,
      number,
    ];
    const title = `${day.date}: ${t.turns(day.turns)}, ${t.errorsN(day.errors)}`;
    node.append(
      svg(
        "g",
        {},
        svg("title", {}, title),
        svg("rect", { class: "stream", x, y: 130 - height, width: 14, height, rx: 2 }),
        svg("rect", {
          class: "failed",
          x,
          y: 130 - Math.min(wrong, height),
          width: 14,
          height: Math.min(wrong, height),
        }),
      ),
    );
  }
  for (const ago of [29, 20, 10, 0]) {
    const date = new Date(today - ago * 86_400_000).toISOString().slice(5, 10);
    const anchor = ago === 29 ? "start" : ago === 0 ? "end" : "middle";
    node.append(
      svg(
        "text",
        {
          x: ago === 29 ? 0 : ago === 0 ? 600 : 20 * (29 - ago) + 10,
          y: 146,
          "text-anchor": anchor,
        },
        date,
      ),
    );
  }
  node.append(svg("text", { x: 0, y: 10 }, whole(most)));
  return node;
}

function header(names: readonly string[]): HTMLElement {
  const row = el("tr");
  for (const name of names) row.append(el("th", { scope: "col" }, name));
  return el("thead", {}, row);
}

function scrolled(table: HTMLElement): HTMLElement {
  return el("div", { class: "scrolled", tabindex: 0 }, table);
}

function append(node: HTMLElement, ...children: (Node | string)[]): HTMLElement {
  node.append(...children);
  return node;
}
