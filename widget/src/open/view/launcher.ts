/** The button in the corner of the page that opens the panel. */

import type { Texts } from "../english.ts";
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

  /** Shows the number of answers that the visitor has not seen; 0 removes it. */
  unread(count: number): void {
    this.#node.classList.toggle("unread", count > 0);
    this.#node.dataset.unread = `${count}`;
    if (count)
      this.#node.ariaLabel = `${this.#texts.open}: ${this.#texts.endings.whole} (${count})`;
  }

  show(isOpen: boolean): void {
    this.#node.ariaExpanded = `${isOpen}`;
    this.#node.ariaLabel = isOpen ? this.#texts.close : this.#texts.open;
  }
}
