/** Offers the contact form to visitors, in a file of its own for sites with a form. */

import { atEnd } from "../../answer/at-end.ts";
import type { AnswerTexts } from "../../answer/english.ts";
import type { MenuActs } from "../../answer/menu.ts";
import type { Texts } from "../../open/english.ts";
import { own } from "../../open/own.ts";
import type { Ask } from "../../open/transport/http.ts";
import type { Turn } from "../../open/turn.ts";
import { adopt, button, element } from "../../open/view/dom.ts";
import stylesheet from "./contact.css";
import { ENGLISH } from "./english.ts";
import { linkOf, showForm } from "./form.ts";
import { asksForPerson } from "./person.ts";
import { contactRequest, withChat } from "./request.ts";

/**
 * The contact form for the widget in `root`. `speak` announces a text to screen readers. `chatOf`
 * returns the stored chat, once there is one. Without a chat, the request is sent alone.
 * `sent` is called after a request was stored. `guard` runs the bot check, and returns the function
 * that sends its result.
 */
export default function contact(
  root: ShadowRoot | null,
  texts: Texts & AnswerTexts,
  speak: (text: string) => void,
  chatOf: () => MenuActs | undefined,
  sent: () => void,
  apiUrl: URL,
  guard: () => Promise<Ask>,
) {
  adopt(root, stylesheet);
  const words = { ...ENGLISH, ...texts };
  /** The text that the form begins with. */
  let message = "";
  const request = withChat(chatOf, apiUrl, guard);
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
    if (log) showForm(log, words, speak, request, message, !!chatOf(), sent);
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
    /** Adds the button to the menu of the header, after its first item. */
    addTo: (menu: Element | null) => {
      ready((link) => {
        const item = Object.assign(way(link, ""), { role: "menuitem", tabIndex: -1 });
        menu?.firstElementChild?.after(item);
      });
    },
    /** Adds the button below an answer if the visitor asked for a person, or got no answer. */
    answered: (row: HTMLElement, turn: Turn) => {
      // A message that only asks for a person is no question for them.
      message = asksForPerson(turn.question) ? "" : turn.question;
      if (turn.isUnanswered || asksForPerson(turn.question)) offer(row);
      rated(row, turn);
    },
    /** Adds the button to `row`, for a form that begins with `summary`. */
    offerIn: (row: HTMLElement, summary: string | undefined) => {
      if (summary) message = summary;
      offer(row);
    },
    /** Adds the button to a note. */
    offer: (note: Element) => {
      const row = element("div", { className: "actions" });
      note.after(row);
      offer(row);
    },
    /** Adds the button below an answer that the visitor rated as not helpful. */
    rated,
  };
}

export type ContactModule = { readonly default: typeof contact };

export type Contact = ReturnType<typeof contact>;
