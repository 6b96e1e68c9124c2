/** The requests of visitors for a person, and their delivery. */

import { copyButton } from "./copy.ts";
import { el } from "./dom.ts";
import { moment, t } from "./texts.ts";
import type { ContactRequest, Contacts } from "./types.ts";

export function contactsView({ requests, delivers, signing_key }: Contacts): HTMLElement {
  const node = el("div", { class: "sums" }, el("h2", { tabindex: -1 }, t.requests));
  if (requests.length === 0) node.append(el("p", {}, t.noRequests));
  else {
    const rows = requests.map((one) => row(one, delivers));
    node.append(el("ul", { class: "contacts" }, ...rows));
  }
  if (signing_key !== "") {
    const label = el("p", { class: "muted" }, `${t.signingKey} `);
    label.append(copyButton(t.copy, () => signing_key));
    node.append(label);
  }
  return node;
}

function row(request: ContactRequest, delivers: boolean): HTMLElement {
  const who = [request.name, request.email].filter(Boolean).join(" · ");
  return el(
    "li",
    {},
    el(
      "p",
      { class: "row-facts" },
      el("strong", {}, el("bdi", {}, who || t.visitor)),
      ` · ${moment(request.created_at)}`,
      delivers && ` · ${stateOf(request)}`,
    ),
    request.message && el("p", { class: "contact-message", dir: "auto" }, request.message),
    request.session_id !== "" && el("a", { href: `#s=${request.session_id}` }, t.itsChat),
  );
}

function stateOf({ delivered_at, attempts }: ContactRequest): string {
  if (delivered_at !== null) return t.delivered(moment(delivered_at));
  return attempts > 0 ? t.failedTimes(attempts) : t.notDelivered;
}
