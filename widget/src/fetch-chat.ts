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

/** Runs the script from the loader's folder, inside the host element; the chat removes it again. */
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
