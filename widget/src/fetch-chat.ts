/** Fetches the chat: the file with the hash that this loader was built with. */

import type { Bring } from "./loader.ts";

declare global {
  /** The name and the expected hash of the chat's file; set by the build. */
  const CHAT_FILE: string;
  const CHAT_INTEGRITY: string;
  interface Window {
    trustedTypes?: {
      createPolicy(
        name: string,
        rules: { createScriptURL: (url: string) => string },
      ): { createScriptURL(url: string): string };
    };
  }
}

/** The policy is made once: a page may forbid a second policy of the same name. */
let policy: { createScriptURL(url: string): string } | undefined;

/**
 * Runs the script from the loader's folder, inside the host element; the chat removes it again.
 *
 * A loader that a browser has cached may be of an earlier release, whose chat is no longer served.
 * Then the widget in one file replaces the loader, unless the page allows only known hashes.
 */
export const fetchChat: Bring = (host, loader, failed) => {
  const load = (name: string, integrity: string, otherwise: () => void): void => {
    const script = document.createElement("script");
    const url = new URL(name, loader?.src).href;
    policy ??= window.trustedTypes?.createPolicy("kefu-chat", { createScriptURL: (url) => url });
    script.src = policy?.createScriptURL(url) ?? url;
    script.integrity = integrity;
    script.crossOrigin = "";
    script.nonce = loader?.nonce as string;
    script.onerror = otherwise;
    host.append(script);
  };
  load(CHAT_FILE, CHAT_INTEGRITY, () =>
    loader?.integrity ? failed() : load("chat-widget.all.js", "", failed),
  );
};
