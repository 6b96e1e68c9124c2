/** The current state of the keys and of the store. */

import { button, el } from "./dom.ts";
import type { Waiting } from "./state/queue.ts";
import type { Store } from "./state/store.ts";
import { seconds, t, whole } from "./texts.ts";
import type { About, Key } from "./types.ts";

export function keysView(keys: readonly Key[]): HTMLElement {
  const node = el("div", { className: "sums" }, el("h2", { tabIndex: -1 }, t.keys));
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
          el("span", { className: `state ${key.status}` }, t.state[key.status] ?? key.status),
          ` ${left}`,
        ),
        el("td", { className: "number" }, whole(key.rate_limited)),
        el("td", { className: "number" }, whole(key.failing)),
        el("td", {}, tries.map(([name, n]) => `${name} ${whole(n)}`).join(", ") || "–"),
      ),
    );
  }
  const table = el("table", {}, header([t.key, t.status, "429", "5xx", t.tries]), body);
  return append(node, scrolled(table), el("p", { className: "muted" }, t.keysHint));
}

/** Why deliveries of requests fail, with a button that sends them again if the operator may. */
export function troubleLine(waiting: Store<Waiting>, again?: () => void): HTMLElement {
  const text = el("span");
  const node = el("p", { className: "trouble", role: "alert" }, text, " ");
  const send = again && button({ className: "again" }, again, t.sendAgain);
  if (send) node.append(send);
  waiting.follow(({ trouble, lost }) => {
    text.textContent = lost || trouble;
    if (send) send.hidden = lost !== "";
    node.hidden = !(lost || trouble);
  });
  return node;
}

/** The fill level of the store, and the features that it has switched off. */
export function storeLines(about: About | undefined): HTMLElement[] {
  if (!about?.store) return [];
  const { used, limit, level } = about.store;
  const off = t.storeLevel[level];
  const lines = [el("p", { className: "store muted" }, t.store(megabytes(used), megabytes(limit)))];
  return off ? [...lines, el("p", { className: "trouble" }, off)] : lines;
}

function megabytes(bytes: number): string {
  return whole(Math.ceil(bytes / 1e6));
}

export function header(names: readonly string[]): HTMLElement {
  const row = el("tr");
  for (const name of names) row.append(el("th", { scope: "col" }, name));
  return el("thead", {}, row);
}

export function scrolled(table: HTMLElement): HTMLElement {
  return el("div", { className: "scrolled", tabIndex: 0 }, table);
}

function append(node: HTMLElement, ...children: (Node | string)[]): HTMLElement {
  node.append(...children);
  return node;
}
