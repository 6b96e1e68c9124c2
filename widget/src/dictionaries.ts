/** The texts of a language. English is built in; any other language is fetched when needed. */

import { ENGLISH, type Texts } from "./texts.ts";

declare global {
  /** A hash over all dictionaries, which is part of their names; set by the build. */
  const DICTIONARIES: string;
}

/** Milliseconds to wait for a dictionary. After this time the texts are English. */
export const LONGEST_WAIT_MS = 4_000;

/**
 * Dictionaries are JSON and become text nodes only. So the page's policy needs to allow
 * dictionaries only in `connect-src`, and a page that pins the widget's hash runs no other code.
 */
export async function textsOf(language: string, folder: string | undefined): Promise<Texts> {
  return language === "en"
    ? ENGLISH
    : jsonOf(`chat-widget-${language}.${DICTIONARIES}.json`, folder, ENGLISH);
}

/** Fetches a JSON file; returns `otherwise` on failure or after the time limit. */
export async function jsonOf<T>(
  name: string,
  base: URL | string | undefined,
  otherwise: T,
): Promise<T> {
  try {
    const signal = AbortSignal.timeout(LONGEST_WAIT_MS);
    const response = await fetch(new URL(name, base), { credentials: "omit", signal });
    return response.ok ? await response.json() : otherwise;
  } catch {
    return otherwise;
  }
}
