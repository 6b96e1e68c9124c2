/** The open sign-ins to the panel, which an operator ends. */

import { el } from "./dom.ts";
import { askedFirst } from "./removal.ts";
import { Rows } from "./rows.ts";
import type { Store } from "./state/store.ts";
import { header, scrolled } from "./sums.ts";
import { moment, t } from "./texts.ts";
import type { SignIn } from "./types.ts";

/** `end`: absent for an operator who only reads. */
export function signInsView(
  signIns: Store<readonly SignIn[]>,
  end?: (id: string) => void,
): HTMLElement {
  const rows = new Rows<SignIn>(el("tbody"), (one) => row(one, end));
  signIns.follow((all) => rows.draw(all));
  const names = [t.operator, t.rights, t.opened, t.ends, t.endIt];
  return el(
    "div",
    { className: "sums" },
    el("h2", { tabIndex: -1 }, t.signIns),
    el("p", { className: "muted" }, t.signInsHint),
    scrolled(el("table", { className: "one-line" }, header(names), rows.node)),
  );
}

function row(one: SignIn, end?: (id: string) => void): HTMLElement {
  const rights = [one.may === "read" ? t.reads : t.readsAndWrites, one.site];
  const stop = end && !one.own && askedFirst(t.endIt, t.endSure, () => end(one.id));
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, el("bdi", {}, one.operator || t.nameless)),
    el("td", {}, rights.filter(Boolean).join(" · ")),
    el("td", {}, moment(one.opened_at)),
    el("td", {}, moment(one.expires_at)),
    el("td", {}, one.own && t.thisTab, ...(stop || [])),
  );
}
