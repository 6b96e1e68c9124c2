/** Where the visitor writes; its one button sends, or stops the answer under way. */

import type { Texts } from "../texts.ts";
import { element, icon } from "./dom.ts";

/** The service refuses longer messages. */
const MAX_CHARS = 16_000;
/** The second click of a double click lands on Stop: too soon to be meant. */
const SETTLE_MS = 500;

export class Composer {
  readonly node: HTMLFormElement;
  readonly #texts: Texts;
  readonly #input: HTMLTextAreaElement;
  readonly #button: HTMLButtonElement;
  #busySince: number | undefined;

  /** What is written is sent when `whenAllowed` lets it; `send` says whether it took the text. */
  constructor(
    texts: Texts,
    whenAllowed: (act: () => void) => void,
    send: (text: string) => boolean,
    stop: () => void,
  ) {
    this.#texts = texts;
    const submit = (): void => {
      if (this.#input.value.trim()) whenAllowed(() => this.#send(send));
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

  focus(): void {
    this.#input.focus({ preventScroll: true });
  }

  setBusy(isBusy: boolean): void {
    if (isBusy) this.#busySince ??= performance.now();
    else this.#busySince = undefined;
    this.#button.replaceChildren(icon(isBusy ? "stop" : "send"));
    this.#button.ariaLabel = isBusy ? this.#texts.stop : this.#texts.send;
    this.#refresh();
  }

  #send(send: (text: string) => boolean): void {
    if (!send(this.#input.value)) return;
    this.#input.value = "";
    this.#resize();
  }

  /** As tall as its text; only ever called while it is shown: what is hidden has no height. */
  #resize(): void {
    this.#input.style.height = "auto";
    this.#input.style.height = `${this.#input.scrollHeight}px`;
    this.#refresh();
  }

  #refresh(): void {
    const isIdle = this.#busySince === undefined;
    const isUseless = isIdle && !this.#input.value.trim();
    // aria-disabled, not disabled: a disabled button would lose the focus to the page.
    this.#button.ariaDisabled = String(isUseless);
  }
}

/** Enter that chooses a word of an input method. Safari ends the composition before the key. */
function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}
