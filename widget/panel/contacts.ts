/** The requests of visitors for a person: their delivery, and the operator's actions. */

import { copyButton } from "./copy.ts";
import { button, el } from "./dom.ts";
import { removal } from "./removal.ts";
import { Rows } from "./rows.ts";
import type { Store } from "./state/store.ts";
import { moment, t } from "./texts.ts";
import type { ContactRequest, Contacts } from "./types.ts";

export interface RequestActs {
  more(): void;
  /** Absent for an operator who only reads. */
  readonly change?: {
    mark(id: string, done: boolean): void;
    remove(id: string, wantsReceipt: boolean): void;
    send(id: string): void;
  };
}

export function contactsView(contacts: Store<Contacts>, acts: RequestActs): HTMLElement {
  const { delivers, signing_key: key } = contacts.get();
  const list = el("ul", { className: "contacts" });
  const rows = new Rows<ContactRequest>(list, (one) => row(one, delivers, acts));
  const more = button({ className: "pill" }, () => acts.more(), t.more);
  const none = el("p", {}, t.noRequests);
  contacts.follow(({ requests, cursor }) => {
    rows.draw(requests);
    more.hidden = cursor === null;
    none.hidden = requests.length > 0;
  });
  return el(
    "div",
    { className: "sums" },
    el("h2", { tabIndex: -1 }, t.requests),
    none,
    list,
    more,
    key !== "" &&
      el(
        "p",
        { className: "muted" },
        `${t.signingKey} `,
        copyButton(t.copy, () => key),
      ),
  );
}

function row(request: ContactRequest, delivers: boolean, acts: RequestActs): HTMLElement {
  const { name, email, message, consent, session_id: session, done_at: done } = request;
  const who = name || (email ? "" : t.visitor);
  return el(
    "li",
    { className: done === null ? "" : "done" },
    el(
      "p",
      { className: "row-facts" },
      who && el("strong", {}, el("bdi", {}, who)),
      name && email && " · ",
      email && mailLink(email),
      ` · ${moment(request.created_at)}`,
      done === null ? delivers && ` · ${stateOf(request)}` : ` · ${t.doneAt(moment(done))}`,
    ),
    message && el("p", { className: "contact-message", dir: "auto" }, message),
    consent && el("p", { className: "muted", dir: "auto" }, t.accepted(consent)),
    session !== "" && el("a", { href: `#s=${session}` }, t.itsChat),
    acts.change && tools(request, delivers, acts.change),
  );
}

function tools(
  { id, done_at: done }: ContactRequest,
  delivers: boolean,
  change: NonNullable<RequestActs["change"]>,
): HTMLElement {
  const isOpen = done === null;
  return el(
    "div",
    { className: "tools" },
    button({ className: "quiet" }, () => change.mark(id, isOpen), isOpen ? t.done : t.reopen),
    delivers && isOpen && button({ className: "quiet" }, () => change.send(id), t.sendAgain),
    ...removal(t.removeRequest, (wantsReceipt) => change.remove(id, wantsReceipt)),
  );
}

export function mailLink(email: string): HTMLElement {
  return el("a", { href: `mailto:${encodeURIComponent(email)}` }, el("bdi", {}, email));
}

function stateOf({ delivered_at, attempts }: ContactRequest): string {
  if (delivered_at !== null) return t.delivered(moment(delivered_at));
  return attempts > 0 ? t.failedTimes(attempts) : t.notDelivered;
}
