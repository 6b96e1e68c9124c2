/** Modules that the chat fetches at their first use. */

import { LONGEST_WAIT_MS } from "./dictionaries.ts";
import { renew } from "./transport/renew.ts";
import { element } from "./view/dom.ts";

/** Imports the module `name` of this build from the folder of `script`. Rejects on any failure. */
export function lazyModule<Module>(
  host: HTMLElement,
  script: HTMLScriptElement | null,
  name: string,
  integrity: string,
): Promise<Module> {
  const href = new URL(`chat-widget-${name}.${PARTS}.js`, script?.src).href;
  // The link verifies the hash; import() has no such option, and takes the file that the link fetched.
  const link = element("link", {
    rel: "modulepreload",
    href,
    integrity,
    nonce: script?.nonce as string,
  });
  return new Promise<Module>((resolve, reject) => {
    link.onload = () => resolve(import(href));
    link.onerror = (event) => {
      if (script) renew(script.src);
      reject(event);
    };
    setTimeout(reject, LONGEST_WAIT_MS);
    host.append(link);
  }).finally(() => link.remove());
}

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
    this.#coming ??= this.#bring().then(
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
   * Calls `use` with the module, at once if it is loaded. Offline, the call waits for the network;
   * after any other failure there is no module.
   */
  use(use: (module: Module) => void): void {
    if (this.#module) use(this.#module);
    else {
      this.load().then((module) => {
        if (module) use(module);
        else if (!navigator.onLine) addEventListener("online", () => this.use(use), { once: true });
      });
    }
  }
}
