/** A value of the page, and the functions that are called when it changes. */

export class Store<T> {
  #value: T;
  readonly #listeners = new Set<(value: T) => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get(): T {
    return this.#value;
  }

  set(value: T): void {
    this.#value = value;
    for (const listener of this.#listeners) listener(value);
  }

  /** Changes some fields of the value. */
  patch(fields: Partial<T>): void {
    this.set({ ...this.#value, ...fields });
  }

  /** Calls `listener` after each change. */
  listen(listener: (value: T) => void): void {
    this.#listeners.add(listener);
  }

  /** A store with the same value until `end`: then its listeners hear no more, and can be freed. */
  until(end: AbortSignal): Store<T> {
    const copy = new Store(this.#value);
    const listener = (value: T) => copy.set(value);
    this.listen(listener);
    end.addEventListener("abort", () => this.#listeners.delete(listener));
    return copy;
  }

  /** Calls `listener` now and after each change. */
  follow(listener: (value: T) => void): void {
    this.listen(listener);
    listener(this.#value);
  }
}
