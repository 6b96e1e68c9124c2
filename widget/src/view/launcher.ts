/** The button in the corner of the page. */

import type { Texts } from "../texts.ts";
import { button, icon } from "./dom.ts";

export class Launcher {
  readonly node: HTMLButtonElement;
  readonly #texts: Texts;

  constructor(texts: Texts, toggled: () => void) {
    this.#texts = texts;
    this.node = button(
      { class: "launcher", part: "launcher", "aria-haspopup": "dialog" },
      toggled,
      icon("chat"),
      icon("down"),
    );
    this.show(false);
  }

  show(isOpen: boolean): void {
    this.node.setAttribute("aria-expanded", String(isOpen));
    this.node.setAttribute("aria-label", isOpen ? this.#texts.close : this.#texts.open);
  }
}
