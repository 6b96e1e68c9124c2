/** The requests of visitors for a person: their delivery, and the operator's actions. */

import { copyButton } from "./copy.ts";
import { button, el } from "./dom.ts";
import { moment, t } from "./texts.ts";
import type { ContactRequest, Contacts } from "./types.ts";

export interface RequestActs {
  more(cursor: string): Promise<Contacts>;
  mark(id: string, done: boolean): Promise<void>;
  remove(id: string, wantsReceipt: boolean): Promise<void>;
  send(id: string): Promise<void>;
  fail(error: unknown): void;
}

export function contactsView(first: Contacts, acts: RequestActs): HTMLElement {
  const node = el("div", { class: "sums" }, el("h2", { tabindex: -1 }, t.requests));
  const list = el("ul", { class: "contacts" });
  const more = button({ class: "pill" }, () => acts.more(cursor).then(add, acts.fail), t.more);
  let cursor = "";
  const add = (page: Contacts): void => {
    list.append(...page.requests.map((one) => row(one, page.delivers, acts)));
    cursor = page.cursor ?? "";
    more.hidden = cursor === "";
  };
  add(first);
  node.append(...(first.requests.length === 0 ? [el("p", {}, t.noRequests)] : [list, more]));
  if (first.signing_key !== "") {
    const label = el("p", { class: "muted" }, `${t.signingKey} `);
    label.append(copyButton(t.copy, () => first.signing_key));
    node.append(label);
  }
  return node;
}

function row(request: ContactRequest, delivers: boolean, acts: RequestActs): HTMLElement {
  const who = request.name || (request.email ? "" : t.visitor);
  const node = el(
    "li",
    { class: request.done_at === null ? "" : "done" },
    el(
      "p",
      { class: "row-facts" },
      who && el("strong", {}, el("bdi", {}, who)),
      request.name && request.email && " · ",
      request.email && mailLink(request.email),
      ` · ${moment(request.created_at)}`,
      request.done_at === null
        ? delivers && ` · ${stateOf(request)}`
        : ` · ${t.doneAt(moment(request.done_at))}`,
    ),
    request.message && el("p", { class: "contact-message", dir: "auto" }, request.message),
    request.consent && el("p", { class: "muted", dir: "auto" }, t.accepted(request.consent)),
    request.session_id !== "" && el("a", { href: `#s=${request.session_id}` }, t.itsChat),
  );
  const replace = (next: ContactRequest): void => {
    const changed = row(next, delivers, acts);
    node.replaceWith(changed);
    changed.querySelector("button")?.focus();
  };
  const mark = async (): Promise<void> => {
    const isDone = request.done_at === null;
    await acts.mark(request.id, isDone);
    replace({ ...request, done_at: isDone ? Date.now() / 1000 : null });
  };
  const dialog = el("dialog", { "aria-label": t.remove });
  const receipt = el("input", { type: "checkbox" });
  const remove = async (): Promise<void> => {
    dialog.close();
    await acts.remove(request.id, receipt.checked);
    node.remove();
  };
  const again = async (): Promise<void> => {
    await acts.send(request.id);
    replace({ ...request, delivered_at: null, attempts: 0 });
  };
  const trying = (act: () => Promise<void>) => () => void act().catch(acts.fail);
  dialog.append(
    el("p", {}, t.removeRequest),
    el("label", {}, receipt, t.withReceipt),
    el(
      "div",
      { class: "tools" },
      button({ class: "quiet", autofocus: true }, () => dialog.close(), t.cancel),
      button({ class: "danger" }, trying(remove), t.remove),
    ),
  );
  node.append(
    el(
      "div",
      { class: "tools" },
      button({ class: "quiet" }, trying(mark), request.done_at === null ? t.done : t.reopen),
      delivers &&
        request.done_at === null &&
        button({ class: "quiet" }, trying(again), t.sendAgain),
      button({ class: "quiet warn" }, () => dialog.showModal(), t.remove),
      dialog,
    ),
  );
  return node;
}

export function mailLink(email: string): HTMLElement {
  return el("a", { href: `mailto:${encodeURIComponent(email)}` }, el("bdi", {}, email));
}

function stateOf({ delivered_at, attempts }: ContactRequest): string {
  if (delivered_at !== null) return t.delivered(moment(delivered_at));
  return attempts > 0 ? t.failedTimes(attempts) : t.notDelivered;
}
