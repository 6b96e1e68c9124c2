/** The button in the corner of the page. */

import type { Texts } from "../texts.ts";
import { element, icon } from "./dom.ts";

export class Launcher {
  readonly node: HTMLButtonElement;
  readonly #texts: Texts;

  constructor(texts: Texts, toggled: () => void) {
    this.#texts = texts;
    this.node = element(
      "button",
      { type: "button", class: "launcher", part: "launcher", "aria-haspopup": "dialog" },
      icon("chat"),
      icon("down"),
    );
    this.node.addEventListener("click", toggled);
    this.show(false);
  }

  show(isOpen: boolean): void {
    this.node.setAttribute("aria-expanded", String(isOpen));
    this.node.setAttribute("aria-label", isOpen ? this.#texts.close : this.#texts.open);
  }
}
