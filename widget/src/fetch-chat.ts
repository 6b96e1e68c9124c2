/** Fetches the chat: the one file that this loader was built with, and no other. */

import type { Bring } from "./loader.ts";

declare global {
  /** Of the build: the name of the file, and what it must hash to. */
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

/** Runs it from beside the loader, in the host itself; the chat clears up behind it. */
export const fetchChat: Bring = (host, loader, failed) => {
  const script = document.createElement("script");
  const url = new URL(CHAT_FILE, loader?.src).href;
  const rules = { createScriptURL: () => url };
  script.src = window.trustedTypes?.createPolicy("kefu-chat", rules).createScriptURL(url) ?? url;
  script.integrity = CHAT_INTEGRITY;
  script.crossOrigin = "";
  script.nonce = loader?.nonce as string;
  script.onerror = failed;
  host.append(script);
};
