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
    node.ariaHasPopup = "dialog";
    node.append(icon("down"));
    this.show(false);
  }

  /** An answer has ended, and nobody was there to see it. */
  unread(): void {
    this.node.classList.add("unread");
    this.node.ariaLabel = `${this.#texts.open}: ${this.#texts.endings.whole}`;
  }

  show(isOpen: boolean): void {
    this.node.classList.remove("unread");
    this.node.ariaExpanded = String(isOpen);
    this.node.ariaLabel = isOpen ? this.#texts.close : this.#texts.open;
  }
}
