/** The tools of the header: a button that enlarges the panel, and the menu of rarely used actions. */

import type { ChatActs } from "../open/chat-acts.ts";
import { button, element } from "../open/view/dom.ts";
import { ENLARGE, icon, MORE } from "../open/view/icons.ts";
import type { AnswerTexts } from "./english.ts";
import { ITEMS, type Item } from "./menu-items.ts";

/** Within this time, a click on the confirmation is the second half of a double click. */
const SETTLE_MS = 500;

export function menu(
  texts: AnswerTexts,
  speak: (text: string) => void,
  acts: ChatActs,
): HTMLElement {
  const note = element("p", { className: "quiet", hidden: true });
  /** Opens the menu again, with what there is to say about the item. */
  const say = (text: string): void => {
    popup.open();
    note.hidden = false;
    note.textContent = text;
    speak(text);
  };
  const items = element("div", { role: "menu", ariaLabel: texts.more });
  const drawn = ITEMS.map((item) =>
    itemOf(texts, speak, item, async () => {
      const said = await item.act(acts, items);
      if (said) say(texts[said]);
    }),
  );
  items.append(...drawn.map(({ node }) => node));
  const popup = popupOf(texts.more, items, note, () => {
    for (const { reset } of drawn) reset();
  });
  return element("div", { className: "tools" }, enlarger(texts.enlarge), ...popup.nodes);
}

/**
 * The button of an item. An item with a text to confirm acts on the second click; `reset` withdraws its
 * question.
 */
function itemOf(
  texts: AnswerTexts,
  speak: (text: string) => void,
  { text, confirm, isForKept }: Item,
  act: () => void,
) {
  let since: number | undefined;
  const reset = (): void => {
    since = undefined;
    node.classList.remove("sure");
    node.textContent = texts[text];
  };
  const ask = (question: string): void => {
    since = performance.now();
    node.textContent = question;
    speak(question);
    setTimeout(() => node.classList.toggle("sure", since !== undefined), SETTLE_MS);
  };
  const node = button(
    {
      role: "menuitem",
      tabIndex: -1,
      className: `${confirm ? "erase" : ""} ${isForKept ? "if-kept" : ""}`.trim(),
    },
    () => {
      if (!confirm || node.matches(".sure")) act();
      else if (since === undefined) ask(texts[confirm]);
    },
    texts[text],
  );
  return { node, reset };
}

/** Makes the panel as large as the window allows, for long answers and wide tables. */
function enlarger(name: string): HTMLElement {
  const node = button(
    { className: "tool enlarge", ariaLabel: name, title: name, ariaPressed: "false" },
    () => {
      node.ariaPressed = String(node.closest(".panel")?.classList.toggle("large"));
    },
    icon(ENLARGE),
  );
  return node;
}

/** The button of the menu and the card that it opens, as in the menu button pattern of WAI-ARIA. */
function popupOf(name: string, items: HTMLElement, note: HTMLElement, closed: () => void) {
  const card = element("div", { className: "card", hidden: true }, items, note);
  const all = (): HTMLElement[] =>
    [...items.querySelectorAll<HTMLElement>("[role^=menuitem]")].filter((node) =>
      node.checkVisibility(),
    );
  const open = (): void => {
    card.hidden = false;
    more.ariaExpanded = "true";
    all()[0]?.focus();
  };
  const close = (): void => {
    card.hidden = true;
    more.ariaExpanded = "false";
    note.hidden = true;
    closed();
  };
  const more = button(
    {
      className: "tool",
      ariaLabel: name,
      title: name,
      ariaHasPopup: "menu",
      ariaExpanded: "false",
    },
    () => (card.hidden ? open() : close()),
    icon(MORE),
  );
  const moved = (event: KeyboardEvent): void => {
    const shown = all();
    const at = shown.indexOf(event.target as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === "Escape" && !card.hidden) {
      // The panel stays open.
      event.stopPropagation();
      close();
      more.focus();
    } else if (next !== undefined && !card.hidden) {
      event.preventDefault();
      shown.at(next % shown.length)?.focus();
    }
  };
  more.onkeydown = card.onkeydown = moved;
  // Safari moves the focus out of a button that is pressed, which would close the menu.
  card.onmousedown = (event) => event.preventDefault();
  card.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget !== more && !card.contains(relatedTarget as Node | null)) close();
  });
  const isChosen = ({ target }: Event): boolean =>
    (target as Element).matches("[role^=menuitem]:not(.erase:not(.sure))");
  // Runs before the item's own action, which may move the focus elsewhere.
  const chosen = (event: Event): void => {
    if (isChosen(event)) more.focus();
  };
  card.addEventListener("click", chosen, { capture: true });
  card.addEventListener("click", (event) => {
    if (isChosen(event)) close();
  });
  return { nodes: [more, card], open };
}
