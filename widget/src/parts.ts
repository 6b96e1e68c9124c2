/** Fetches the modules of this build, from the folder of the loader's script. */

import { renew } from "./renew.ts";

/** Imports the module `name` of this build, which has the hash `integrity`. Rejects on any failure. */
export type FetchPart = <Module>(name: string, integrity: string) => Promise<Module>;

/** `host` is in the page: only there does the browser fetch what a link names. */
export function partsOf(host: HTMLElement, script: HTMLScriptElement | null): FetchPart {
  /** A `?` for each failure: a browser may never fetch a failed address again. */
  let failures = "";
  return async (name, integrity) => {
    // The name of the file contains the beginning of its hash.
    const version = integrity.slice(7, 19).replace(/\W/g, "-");
    const file = `chat-widget-${name}.${version}.js${failures}`;
    const href = new URL(file, script?.src).href;
    // The link verifies the hash; import() has no such option, and takes the file that the link fetched.
    const link = document.createElement("link");
    Object.assign(link, { rel: "modulepreload", href, integrity, nonce: script?.nonce });
    try {
      await new Promise((resolve, reject) => {
        link.onload = resolve;
        link.onerror = reject;
        host.append(link);
      });
      return await import(href);
    } catch (error) {
      failures += "?";
      if (script) renew(script.src);
      throw error;
    } finally {
      link.remove();
    }
  };
}
