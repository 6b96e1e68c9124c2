/** The translations of an opened session into the operator's language, while the switch is on. */

import { Store } from "./store.ts";

const AT_ONCE = 4;

export class Translation {
  readonly isOn: Store<boolean>;
  readonly #ask: (text: string) => Promise<string>;
  readonly #known = new Map<string, Promise<string>>();
  readonly #busy: Promise<unknown>[] = [];
  #count = 0;

  constructor(isOn: boolean, ask: (text: string) => Promise<string>) {
    this.isOn = new Store(isOn);
    this.#ask = ask;
  }

  /** A text in the operator's language. A failed request is repeated by the next call. */
  of(text: string): Promise<string> {
    const known = this.#known.get(text);
    if (known) return known;
    const lane = this.#count % AT_ONCE;
    this.#count += 1;
    const made = (this.#busy[lane] ?? Promise.resolve())
      .catch(() => {})
      .then(() => this.#ask(text));
    this.#busy[lane] = made;
    this.#known.set(text, made);
    made.catch(() => this.#known.delete(text));
    return made;
  }
}
