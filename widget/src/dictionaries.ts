/** The texts of a language: English is here, any other is fetched when it is wanted. */

import { ENGLISH, type Texts } from "./texts.ts";

declare global {
  /** Of the build: what the dictionaries together hash to, a part of their names. */
  const DICTIONARIES: string;
}

/** A visitor who asked does not wait longer for words; English is better than nothing. */
export const LONGEST_WAIT_MS = 4_000;

/**
 * They are data and only ever become text, so that no more than `connect-src` has to allow them,
 * and whoever pinned the widget by its hash still runs no other code.
 */
export async function textsOf(language: string, folder: string | undefined): Promise<Texts> {
  return language === "en"
    ? ENGLISH
    : jsonOf(`chat-widget-${language}.${DICTIONARIES}.json`, folder, ENGLISH);
}

/** What is read there, or `otherwise`, if that cannot be had soon. */
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
