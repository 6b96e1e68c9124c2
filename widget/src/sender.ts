/**
 * How requests go out: as they are, or by a file that knows of kept chats. It is fetched where the
 * service says that it keeps them, or this browser holds one from before, and nowhere else.
 */

import { jsonOf, LONGEST_WAIT_MS } from "./dictionaries.ts";
import type { Store } from "./store.ts";
import { element } from "./view/dom.ts";

declare global {
  /** Of the build: what the file must hash to. */
  const KEPT_INTEGRITY: string;
}

export type Send = (url: URL, init: RequestInit) => Promise<Response>;

/** What the file exports: two scripts, built apart, that meet in these and in the page's nodes. */
export type Keep = (
  host: HTMLElement,
  apiUrl: URL,
  store: Store,
  script: HTMLScriptElement | null,
) => Promise<Send>;

/** Whatever fails or takes too long here, the chat goes on without being kept. */
export async function sender(
  script: HTMLScriptElement | null,
  host: HTMLElement,
  apiUrl: URL,
  store: Store,
): Promise<Send> {
  const bring = (): Promise<Send> =>
    new Promise<Send>((resolve, reject) => {
      const href = new URL(`chat-widget-kept.${DICTIONARIES}.js`, script?.src).href;
      // import() takes what was fetched here; of the two, this alone looks at the hash.
      const link = element("link", {
        rel: "modulepreload",
        href,
        integrity: KEPT_INTEGRITY,
        nonce: script?.nonce as string,
      });
      link.onload = () =>
        resolve(import(href).then(({ default: keep }) => keep(host, apiUrl, store, script)));
      link.onerror = reject;
      setTimeout(reject, LONGEST_WAIT_MS);
      host.append(link);
    }).catch(() => fetch);
  let sending = store.read().session ? bring() : undefined;
  await sending;
  return async (url, init) => {
    sending ??= jsonOf<{ sessions?: unknown }>("../health", apiUrl, {}).then(({ sessions }) =>
      sessions ? bring() : fetch,
    );
    return (await sending)(url, init);
  };
}
