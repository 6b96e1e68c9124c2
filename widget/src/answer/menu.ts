/** The tools of the header: a button that enlarges the panel, and the menu of rarely used actions. */

import type { ChatActs } from "../open/chat-acts.ts";
import { button, element } from "../open/view/dom.ts";
import { ENLARGE, icon, MORE } from "../open/view/icons.ts";
import type { AnswerTexts } from "./english.ts";

/** Within this time, a click on the confirmation is the second half of a double click. */
const SETTLE_MS = 500;
/** Some browsers read the file some time after the click. */
const FILE_MS = 60_000;

export function menu(
  texts: AnswerTexts,
  speak: (text: string) => void,
  acts: ChatActs,
): HTMLElement {
  const failure = element("p", { className: "quiet", hidden: true }, texts.failed);
  const show = (isFailed: boolean): void => {
    failure.hidden = !isFailed;
    if (!isFailed) return;
    popup.open();
    speak(texts.failed);
  };
  const download = async (): Promise<void> => {
    const response = await acts.request("/export?format=md");
    const file = response?.ok ? await response.blob().catch(() => undefined) : undefined;
    show(!file);
    if (file) save(file);
  };
  const erase = async (): Promise<void> => {
    const status = (await acts.request("", { method: "DELETE" }))?.status;
    const isErased = status === 204 || status === 404;
    show(!isErased);
    if (isErased) acts.renew();
  };
  const eraser = eraserOf(texts, speak, erase);
  const items = element(
    "div",
    { role: "menu", ariaLabel: texts.more },
    item(texts.newChat, () => acts.renew()),
    item(texts.download, download, "if-kept"),
    eraser.node,
  );
  const popup = popupOf(texts.more, items, failure, eraser.reset);
  return element("div", { className: "tools" }, enlarger(texts.enlarge), ...popup.nodes);
}

function item(text: string, act: () => void, className = ""): HTMLButtonElement {
  return button({ role: "menuitem", tabIndex: -1, className }, act, text);
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
function popupOf(name: string, items: HTMLElement, failure: HTMLElement, closed: () => void) {
  const card = element("div", { className: "card", hidden: true }, items, failure);
  const all = (): HTMLElement[] =>
    [...items.querySelectorAll<HTMLElement>("[role=menuitem]")].filter((node) =>
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
    failure.hidden = true;
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
    (target as Element).matches("[role=menuitem]:not(.erase:not(.sure))");
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

/** An item that asks for confirmation, and deletes on a second click. `reset` withdraws the question. */
function eraserOf(texts: AnswerTexts, speak: (text: string) => void, erase: () => void) {
  let since: number | undefined;
  const reset = (): void => {
    since = undefined;
    node.classList.remove("sure");
    node.textContent = texts.erase;
  };
  const node = item(
    texts.erase,
    () => {
      if (since === undefined) {
        since = performance.now();
        node.textContent = texts.eraseForGood;
        speak(texts.eraseForGood);
        setTimeout(() => node.classList.toggle("sure", since !== undefined), SETTLE_MS);
      } else if (node.matches(".sure")) erase();
    },
    "erase if-kept",
  );
  return { node, reset };
}

function save(file: Blob): void {
  const href = URL.createObjectURL(file);
  element("a", { href, download: "chat.md" }).click();
  setTimeout(() => URL.revokeObjectURL(href), FILE_MS);
}
