/** The dialog: its head, the conversation, the composer, and what is said aloud. */

import type { Texts } from "../texts.ts";
import { button, element, icon } from "./dom.ts";

export class Panel {
  readonly node: HTMLElement;
  readonly #line = element("span");
  readonly #dot = element("i", { class: "dot" });
  /** Read aloud at the start and the end of an answer; the growing text itself is not. */
  readonly #spoken = element("div", { class: "spoken", role: "status" });

  constructor(
    texts: Texts,
    title: string,
    mark: Node,
    parts: readonly HTMLElement[],
    privacyUrl: string | undefined,
    closed: () => void,
    renewed: () => void,
  ) {
    const footer = element("p", { class: "disclaimer" }, texts.disclaimer);
    if (privacyUrl) {
      const link = { href: privacyUrl, target: "_blank", rel: "noopener" };
      footer.append(" · ", element("a", link, texts.privacy));
    }
    this.node = element(
      "section",
      { class: "panel", part: "panel", id: "panel", role: "dialog", "aria-labelledby": "title" },
      element(
        "header",
        { part: "header" },
        element("span", { class: "mark" }, mark),
        element(
          "div",
          { class: "heading" },
          element("h2", { id: "title" }, element("bdi", {}, title)),
          element("p", { class: "line" }, this.#dot, this.#line),
        ),
        button({ class: "renew", "aria-label": texts.newChat }, renewed, icon("pencil")),
        button({ class: "close", "aria-label": texts.close }, closed, icon("close")),
      ),
      ...parts,
      footer,
      this.#spoken,
    );
    this.node.hidden = true;
    this.node.addEventListener("say", (event) => this.speak((event as CustomEvent<string>).detail));
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.isComposing) closed();
    });
    // Shortcuts of the page would not see that a text field has the focus.
    for (const type of ["keydown", "keypress", "keyup"]) {
      this.node.addEventListener(type, (event) => event.stopPropagation());
    }
  }

  status(text: string, isOnline: boolean): void {
    // Told with every piece of an answer; what does not change is not drawn anew.
    if (this.#line.textContent !== text) this.#line.textContent = text;
    this.#dot.classList.toggle("off", !isOnline);
  }

  speak(text: string): void {
    this.#spoken.textContent = text;
  }
}
