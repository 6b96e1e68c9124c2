/** The texts of a language. English is built in; any other language is fetched beside the chat. */

import type { AnswerTexts } from "./answer/english.ts";
import type { CommentTexts } from "./features/comment/english.ts";
import type { ContactTexts } from "./features/contact/english.ts";
import type { CountdownTexts } from "./features/countdown/english.ts";
import type { EarlierTexts } from "./features/earlier/english.ts";
import type { EditTexts } from "./features/edit/english.ts";
import type { PictureTexts } from "./features/images/english.ts";
import type { ReasonTexts } from "./features/refusal/english.ts";
import type { TalkTexts } from "./features/talk/english.ts";
import type { TipTexts } from "./features/tip/english.ts";
import type { ToolTexts } from "./features/tools/english.ts";
import type { RefusalTexts } from "./features/tools/refusal-english.ts";
import type { Texts } from "./open/english.ts";

/** The content of a dictionary in languages/. A text that is not translated is shown in English. */
export type Dictionary = Partial<
  Texts &
    AnswerTexts &
    CommentTexts &
    ContactTexts &
    CountdownTexts &
    EarlierTexts &
    EditTexts &
    PictureTexts &
    ReasonTexts &
    TalkTexts &
    TipTexts &
    ToolTexts &
    RefusalTexts
>;

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
