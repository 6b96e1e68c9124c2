/** The button in the corner of the page that opens the panel. */

import type { Texts } from "../texts.ts";
import { DOWN, icon } from "./icons.ts";

export class Launcher {
  readonly #node: HTMLButtonElement;
  readonly #texts: Texts;

  /** `node`: the button that the loader drew. */
  constructor(texts: Texts, node: HTMLButtonElement) {
    this.#texts = texts;
    this.#node = node;
    node.ariaHasPopup = "dialog";
    node.append(icon(DOWN));
    this.show(false);
  }

  focus(): void {
    this.#node.focus({ preventScroll: true });
  }

  /** Marks that an answer ended while the panel was closed. */
  unread(): void {
    this.#node.classList.add("unread");
    this.#node.ariaLabel = `${this.#texts.open}: ${this.#texts.endings.whole}`;
  }

  show(isOpen: boolean): void {
    this.#node.classList.remove("unread");
    this.#node.ariaExpanded = String(isOpen);
    this.#node.ariaLabel = isOpen ? this.#texts.close : this.#texts.open;
  }
}
