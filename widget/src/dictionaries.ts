/** The texts of a language. English is built in; any other language is fetched beside the chat. */

/**
 * The content of a dictionary in languages/: each file of English texts declares its own ones here. A text
 * that is not translated is shown in English.
 */
// biome-ignore lint/suspicious/noEmptyInterface: the files of texts extend it
export interface Dictionary {}

declare global {
  /** A hash over all dictionaries, which is part of their names; set by the build. */
  const DICTIONARIES: string;
}

/** Milliseconds to wait for a dictionary. After this time the texts are English. */
const LONGEST_WAIT_MS = 4_000;

/**
 * The texts of `language` that are translated; none for English, on failure, or after the time limit.
 * `part`: `answer-` for the texts of answers and features, in place of those of the panel; the name of
 * a feature whose texts are a file of their own, such as `contact-`.
 *
 * Dictionaries are JSON and become text nodes only. So the page's policy needs to allow
 * dictionaries only in `connect-src`, and a page that pins the widget's hash runs no other code.
 */
export async function textsOf(
  language: string,
  folder: string | undefined,
  part = "",
): Promise<Dictionary> {
  if (language === "en") return {};
  try {
    const url = new URL(`chat-widget-${part}${language}.${DICTIONARIES}.json`, folder);
    const signal = AbortSignal.timeout(LONGEST_WAIT_MS);
    const response = await fetch(url, { credentials: "omit", signal });
    return response.ok ? await response.json() : {};
  } catch {
    return {};
  }
}
