/** The elements of the talk with a person. */

import { AT_END_PX, atEnd } from "../../answer/at-end.ts";
import { opensAgain } from "../../answer/opening.ts";
import { element } from "../../open/view/dom.ts";
import type { TalkTexts } from "./english.ts";

/** The name above a line, with its first letter in a circle. */
export function faceOf(name: string): HTMLElement {
  const [letter = ""] = name;
  return element(
    "p",
    { className: "by" },
    element("span", { className: "face", ariaHidden: "true" }, letter.toLocaleUpperCase()),
    element("bdi", {}, name),
  );
}

/** A text with a name, which may be of another direction. */
function named(text: string, name: string): (Node | string)[] {
  const [before = "", after] = text.split("{name}");
  return after === undefined ? [before] : [before, element("bdi", {}, name), after];
}

/** Adds a line between the messages, and returns it. */
export function notice(log: HTMLElement, text: string, name: string): HTMLElement {
  const line = element("p", { className: "joined" }, element("span", {}, ...named(text, name)));
  atEnd(log, () => log.append(line), AT_END_PX);
  return line;
}

type Words = TalkTexts & Parameters<typeof opensAgain>[0];

/** The lines below the title and below the input. */
export class Head {
  /** When the waiting visitor gets an answer, by the service; undefined during the opening hours. */
  opensAt: unknown;
  readonly #panel: Element | null | undefined;
  readonly #words: Words;
  readonly #disclaimer: string;
  readonly #text = element("span");

  constructor(root: ShadowRoot | null, words: Words, disclaimer: string) {
    this.#panel = root?.querySelector(".panel");
    this.#words = words;
    this.#disclaimer = disclaimer;
    const line = element("p", { className: "line talk" }, element("i", { className: "dot" }));
    line.append(this.#text);
    this.#panel?.querySelector(".line")?.after(line);
  }

  show(state: unknown, name: string): void {
    const isPerson = state === "person";
    this.#panel?.classList.toggle("talks", isPerson || state === "waiting");
    this.tell(state, name, false);
    const line = this.#panel?.querySelector(".disclaimer")?.firstChild;
    if (line) line.textContent = isPerson ? this.#words.withPerson : this.#disclaimer;
  }

  /** Says below the title who answers, or is writing. */
  tell(state: unknown, name: string, isWriting: boolean): void {
    const { waits, answers, writes } = this.#words;
    const text = isWriting ? writes : answers;
    const isClosed = state === "waiting" && Date.parse(`${this.opensAt}`) > Date.now();
    this.#text.replaceChildren(...(state === "person" ? named(text, name) : [waits]));
    if (isClosed) this.#text.append(element("br"), opensAgain(this.#words, this.opensAt));
  }
}
