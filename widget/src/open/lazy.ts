/** Modules that the chat fetches at their first use. */

/** Milliseconds to wait for a module. After this time the chat goes on without it. */
const LONGEST_WAIT_MS = 4_000;

/** A module that is fetched once, when it is first needed. */
export class Lazy<Module> {
  readonly #bring: () => Promise<Module>;
  #module: Module | undefined;
  #coming: Promise<Module | undefined> | undefined;

  constructor(bring: () => Promise<Module>) {
    this.#bring = bring;
  }

  /** The module, or undefined if it cannot be fetched; the next call tries again. */
  load(): Promise<Module | undefined> {
    this.#coming ??= inTime(this.#bring()).then(
      (module) => {
        this.#module = module;
        return module;
      },
      () => {
        this.#coming = undefined;
        return undefined;
      },
    );
    return this.#coming;
  }

  /**
   * Calls `use` with the module, at once if it is loaded, and `without` after a failure. If that was
   * offline, `use` is called later, when the network is back.
   */
  use(use: (module: Module) => void, without?: () => void): void {
    if (this.#module) use(this.#module);
    else {
      this.load().then((module) => {
        if (module) return use(module);
        without?.();
        if (!navigator.onLine) addEventListener("online", () => this.use(use), { once: true });
      });
    }
  }
}

/** Rejects after the time limit. */
function inTime<T>(coming: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    setTimeout(reject, LONGEST_WAIT_MS);
    coming.then(resolve, reject);
  });
}
