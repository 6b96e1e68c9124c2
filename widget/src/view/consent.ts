/** What the visitor has to agree to before anything is sent, if the site asks for it. */

import type { Texts } from "../texts.ts";
import { button, element } from "./dom.ts";

/** A second Enter or click right after the one that wanted to send is not meant as an agreement. */
const SETTLE_MS = 500;

export class Consent {
  readonly node: HTMLDivElement;
  readonly #button: HTMLButtonElement;
  #isGiven: boolean;
  #waiting: (() => void) | undefined;
  #since = Number.NEGATIVE_INFINITY;

  /** Without a `text` there is nothing to agree to. */
  constructor(texts: Texts, text: string, isGiven: boolean, given: () => void) {
    this.#isGiven = isGiven || !text;
    this.#button = button(
      { className: "agree", ariaDescription: text },
      () => {
        if (performance.now() - this.#since > SETTLE_MS) this.#agree(given);
      },
      texts.agree,
    );
    this.node = element(
      "div",
      { className: "consent", part: "consent", hidden: this.#isGiven },
      element("p", { dir: "auto" }, text),
      this.#button,
    );
  }

  /** Does it at once, or when the visitor has agreed; what waited before is forgotten. */
  whenGiven(act: () => void): void {
    if (this.#isGiven) {
      act();
      return;
    }
    this.#waiting = act;
    this.#since = performance.now();
    this.#button.focus();
  }

  #agree(given: () => void): void {
    this.#isGiven = true;
    this.node.remove();
    given();
    this.#waiting?.();
  }
}
