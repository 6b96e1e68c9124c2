/** The text that the visitor must accept before anything is sent, if the site has such a text. */

import type { Texts } from "../english.ts";
import { button, element, takeOut } from "./dom.ts";

/** Within this time after sending, Enter or a click is a repetition and no consent. */
const SETTLE_MS = 500;

export class Consent {
  readonly node: HTMLDivElement;
  readonly #button: HTMLButtonElement;
  readonly #text: string;
  #isGiven: boolean;
  #waiting: (() => void) | undefined;
  #since = Number.NEGATIVE_INFINITY;

  /** Without a `text`, no consent is needed. */
  constructor(texts: Texts, text: string, isGiven: boolean, given: () => void) {
    this.#text = text;
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

  /** Calls `act` when the visitor has accepted, or at once. Replaces an earlier waiting call. */
  whenGiven(act: () => void): void {
    if (this.#isGiven) {
      act();
      return;
    }
    this.#waiting = act;
    this.#since = performance.now();
    this.#button.focus();
  }

  /** Asks for consent again, and drops the waiting call. */
  withdraw(): void {
    this.#waiting = undefined;
    this.#isGiven = !this.#text;
    this.node.hidden = this.#isGiven;
  }

  #agree(given: () => void): void {
    this.#isGiven = true;
    takeOut(this.node);
    given();
    this.#waiting?.();
  }
}
