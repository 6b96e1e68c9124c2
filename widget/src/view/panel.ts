/** The dialog: its head, the conversation, the composer, and what is said aloud. */

import type { Texts } from "../texts.ts";
import { button, element, icon } from "./dom.ts";

export class Panel {
  readonly node: HTMLElement;
  readonly #line = element("span");
  readonly #dot = element("i", { className: "dot" });
  /** Read aloud at the start and the end of an answer; the growing text itself is not. */
  readonly #spoken = element("div", { className: "spoken", role: "status" });

  constructor(
    texts: Texts,
    title: string,
    mark: Node,
    parts: readonly HTMLElement[],
    privacyUrl: string | undefined,
    closed: () => void,
    renewed: () => void,
  ) {
    const footer = element("p", { className: "disclaimer" }, texts.disclaimer);
    if (privacyUrl) {
      const link = { href: privacyUrl, target: "_blank", rel: "noopener" };
      footer.append(" · ", element("a", link, texts.privacy));
    }
    this.node = element(
      "section",
      { className: "panel", part: "panel", role: "dialog", ariaLabel: title, hidden: true },
      element(
        "header",
        { part: "header" },
        element("span", { className: "mark" }, mark),
        element(
          "div",
          { className: "heading" },
          element("h2", {}, element("bdi", {}, title)),
          element("p", { className: "line" }, this.#dot, this.#line),
        ),
        button({ className: "renew", ariaLabel: texts.newChat }, renewed, icon("pencil")),
        button({ className: "close", ariaLabel: texts.close }, closed, icon("close")),
      ),
      ...parts,
      footer,
      this.#spoken,
    );
    this.node.addEventListener("say", (event) => this.speak((event as CustomEvent<string>).detail));
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.isComposing) closed();
      // Held down, it would send, then stop, or agree to what it has just been asked for.
      const isHeld = event.repeat && event.key === "Enter";
      if (isHeld && (event.target as Element).matches("button")) event.preventDefault();
    });
    // Shortcuts of the page would not see that a text field has the focus.
    for (const type of ["keydown", "keypress", "keyup"]) {
      this.node.addEventListener(type, (event) => event.stopPropagation());
    }
  }

  status(text: string, isOnline: boolean): void {
    this.#line.textContent = text;
    this.#dot.classList.toggle("off", !isOnline);
  }

  speak(text: string): void {
    this.#spoken.textContent = text;
  }
}
