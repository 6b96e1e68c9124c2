/** The text field; its one button sends the text, or stops the answer in progress. */

import type { Texts } from "../english.ts";
import { element } from "./dom.ts";
import { icon, SEND, STOP } from "./icons.ts";

/** Maximum length of a message; the service refuses longer messages. */
const MAX_CHARS = 16_000;
/** Within this time after sending, a click on Stop is the second half of a double click. */
const SETTLE_MS = 500;

export class Composer {
  readonly node: HTMLFormElement;
  readonly #texts: Texts;
  readonly #input: HTMLTextAreaElement;
  readonly #button: HTMLButtonElement;
  #busySince: number | undefined;

  /** `whenAllowed` delays sending until the visitor consents; `send` returns whether it accepted. */
  constructor(
    texts: Texts,
    whenAllowed: (act: () => void) => void,
    send: (text: string) => boolean,
    stop: () => void,
  ) {
    this.#texts = texts;
    const submit = (): void => {
      if (this.#text) whenAllowed(() => this.#send(send));
    };
    this.#input = element("textarea", {
      rows: 1,
      maxLength: MAX_CHARS,
      placeholder: texts.placeholder,
      ariaLabel: texts.placeholder,
      dir: "auto",
      enterKeyHint: "send",
      autocomplete: "off",
      oninput: () => this.#resize(),
      onkeydown: (event) => {
        if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
        event.preventDefault();
        submit();
      },
    });
    this.#button = element("button", { type: "submit", className: "act", part: "send" });
    this.node = element(
      "form",
      {
        className: "composer",
        part: "composer",
        onsubmit: (event: SubmitEvent) => {
          event.preventDefault();
          if (this.#busySince === undefined) submit();
          else if (performance.now() - this.#busySince > SETTLE_MS) stop();
        },
      },
      this.#input,
      this.#button,
    );
    this.setBusy(false);
  }

  /** The visitor's text; without one, the text that a feature sends with what it has added. */
  get #text(): string {
    return this.#input.value.trim() || this.#input.name;
  }

  focus(): void {
    this.#input.focus({ preventScroll: true });
  }

  setBusy(isBusy: boolean): void {
    if (isBusy) this.#busySince ??= performance.now();
    else this.#busySince = undefined;
    this.#button.replaceChildren(icon(isBusy ? STOP : SEND));
    const { stop, send } = this.#texts;
    this.#button.ariaLabel = this.#button.title = isBusy ? stop : send;
    this.#refresh();
  }

  /** Clears the text, and what features have added to it. */
  clear(): void {
    this.node.reset();
    this.#input.style.height = "";
    this.#refresh();
  }

  #send(send: (text: string) => boolean): void {
    if (send(this.#text)) this.clear();
  }

  /** Fits the height to the text. Not for a hidden field, which has no height. */
  #resize(): void {
    this.#input.style.height = "auto";
    this.#input.style.height = `${this.#input.scrollHeight}px`;
    this.#refresh();
  }

  #refresh(): void {
    const isIdle = this.#busySince === undefined;
    const isUseless = isIdle && !this.#text;
    // aria-disabled instead of disabled: a disabled button would lose the focus.
    this.#button.ariaDisabled = `${isUseless}`;
  }
}

/** Whether Enter confirms a word of an input method. Safari ends the composition before the key. */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}
