/** Offers the contact form to visitors, in a file of its own for the sites that have one. */

import { contactTextsOf } from "./contact-texts.ts";
import type { ExtraTexts } from "./extra-texts.ts";
import { asksForPerson } from "./person.ts";
import type { Texts } from "./texts.ts";
import type { Turn } from "./turn.ts";
import stylesheet from "./view/contact.css";
import { personButton, showForm } from "./view/contact.ts";
import { button, element } from "./view/dom.ts";
import type { MenuActs } from "./view/menu.ts";

/**
 * The contact form for the widget in `root`. `speak` announces a text to screen readers. `chatOf`
 * returns the stored chat, once there is one.
 */
export default function contact(
  root: ShadowRoot | null,
  texts: Texts & ExtraTexts,
  speak: (text: string) => void,
  chatOf: () => MenuActs | undefined,
) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(stylesheet);
  root?.adoptedStyleSheets.push(sheet);
  const words = { ...texts, ...contactTextsOf(texts.lang) };
  let lastQuestion = "";
  const open = (): void => {
    const chat = chatOf();
    const log = root?.querySelector(".log");
    // A message that only asks for a person is no question for them.
    const message = asksForPerson(lastQuestion) ? "" : lastQuestion;
    if (chat && log) showForm(log, words, speak, chat.request, message);
  };
  const offer = (row: HTMLElement): void => {
    if (row.querySelector(".handoff")) return;
    const log = row.closest(".log");
    const isAtEnd = log && log.scrollHeight - log.scrollTop - log.clientHeight < 2;
    row.append(personButton(words, open));
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  };
  const rated = (row: HTMLElement, turn: Turn): void => {
    if (turn.rating === "down") offer(row);
  };
  return {
    /** Adds the button to the menu of a stored chat. */
    addTo: (menu: HTMLElement) => {
      menu.prepend(" · ", button({}, open, words.person));
    },
    /** Adds the button below an answer if the visitor asked for a person. */
    answered: (row: HTMLElement, turn: Turn) => {
      lastQuestion = turn.question;
      if (asksForPerson(turn.question)) offer(row);
      rated(row, turn);
    },
    /** Adds the button to a note, if there is a chat that can go with the request. */
    offer: (note: Element) => {
      if (!chatOf()) return;
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
