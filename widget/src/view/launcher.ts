/** The button in the corner of the page, now that there is something to open. */

import type { Texts } from "../texts.ts";
import { icon } from "./dom.ts";

export class Launcher {
  readonly node: HTMLButtonElement;
  readonly #texts: Texts;

  /** `node`: as the loader drew it. */
  constructor(texts: Texts, node: HTMLButtonElement) {
    this.#texts = texts;
    this.node = node;
    node.setAttribute("aria-haspopup", "dialog");
    node.append(icon("down"));
    this.show(false);
  }

  /** An answer has ended, and nobody was there to see it. */
  unread(): void {
    this.node.classList.add("unread");
    this.node.setAttribute("aria-label", `${this.#texts.open}: ${this.#texts.answered}`);
  }

  show(isOpen: boolean): void {
    this.node.classList.remove("unread");
    this.node.setAttribute("aria-expanded", String(isOpen));
    this.node.setAttribute("aria-label", isOpen ? this.#texts.close : this.#texts.open);
  }
}
