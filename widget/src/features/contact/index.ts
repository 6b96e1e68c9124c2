/** Offers the contact form to visitors of sites that have one. */

import { atEnd } from "../../answer/at-end.ts";
import type { Feature, Kit } from "../../answer/feature.ts";
import { textsOf } from "../../dictionaries.ts";
import { own } from "../../open/own.ts";
import type { Turn } from "../../open/turn.ts";
import { adopt, button, element } from "../../open/view/dom.ts";
import stylesheet from "./contact.css";
import { ENGLISH } from "./english.ts";
import { linkOf, showForm } from "./form.ts";
import { asksForPerson } from "./person.ts";
import { contactRequest, withChat } from "./request.ts";

export default async function contact(kit: Kit): Promise<Feature> {
  const { root, texts, script, speak, chat, apiUrl, asking, tell } = kit;
  adopt(root, stylesheet);
  const words = { ...ENGLISH, ...texts, ...(await textsOf(texts.lang, script?.src, "contact-")) };
  /** The text that the form begins with. */
  let message = "";
  /** The row whose summary `message` is. It may come before the answer itself. */
  let summarized: HTMLElement | undefined;
  const request = withChat(chat, apiUrl, asking);
  /** Calls `act` when it is known whether the service offers a link, unless it offers nothing. */
  const ready = async (act: (link: string | undefined) => void): Promise<void> => {
    const { isNothing, link } = await offered;
    if (!isNothing) act(link);
  };
  const offered = contactRequest(apiUrl).then(async (response) => {
    const form = response?.ok ? await response.json().catch(() => undefined) : undefined;
    const link = linkOf(form);
    const fields = own(form, "fields");
    const isEmpty = Array.isArray(fields) && fields.length === 0 && !link;
    return { isNothing: isEmpty || response?.status === 404, link };
  });
  const open = (): void => {
    const log = root?.querySelector(".log");
    if (log) showForm(log, words, speak, request, message, !!chat(), () => tell("requested"));
  };
  const offer = (row: HTMLElement): unknown =>
    ready((link) => {
      if (row.querySelector(".handoff")) return;
      const line = element("p", { className: "handoff" }, way(link, "person"));
      atEnd(row.closest(".log"), () => row.append(line));
    });
  /** The link, or the button that opens the form. */
  const way = (href: string | undefined, className: string): HTMLElement =>
    href
      ? element("a", { className, href, target: "_blank", rel: "noopener" }, words.person)
      : button({ className }, open, words.person);
  const rated = (row: HTMLElement, turn: Turn): void => {
    if (turn.rating === "down") offer(row);
  };
  return {
    /** Adds the button after the first item. */
    menu: (items) => {
      ready((link) => {
        const item = Object.assign(way(link, ""), { role: "menuitem", tabIndex: -1 });
        items.firstElementChild?.after(item);
      });
    },
    /** Adds the button below an answer if the visitor asked for a person, or got no answer. */
    answered: (row, turn) => {
      if (turn.person || !turn.answer) return;
      // A message that only asks for a person is no question for them.
      if (row !== summarized) message = asksForPerson(turn.question) ? "" : turn.question;
      if (turn.isUnanswered || asksForPerson(turn.question)) offer(row);
      rated(row, turn);
    },
    offered: (row, summary) => {
      if (summary) {
        message = summary;
        summarized = row;
      }
      offer(row);
    },
    /** Adds the button to the note that there are no more answers today. */
    failed: (note, { ending }) => {
      if (ending !== "budget_exhausted") return;
      const row = element("div", { className: "actions" });
      note.after(row);
      offer(row);
    },
    /** Adds the button below an answer that the visitor rated as not helpful. */
    rated,
  };
}
