/** Says more about a refused message than the chat itself does: to the visitor, and to the site's owner. */

import type { Refusal, Turn } from "../open/turn.ts";
import type { AnswerTexts } from "./english.ts";
import { refusesPage } from "./probe.ts";

const TEXTS: Readonly<Record<Refusal, "refused" | "tooLong" | "spent" | "notHuman">> = {
  forbidden: "refused",
  too_large: "tooLong",
  budget_exhausted: "spent",
  verification_required: "notHuman",
};

/** The addresses of services whose refusal is on the console already. */
const reported = new Set<string>();

/** Replaces the text of `note`. */
export async function explain(
  note: HTMLElement,
  texts: AnswerTexts,
  speak: (text: string) => void,
  ending: Turn["ending"],
  apiUrl: string,
): Promise<void> {
  const isUnreachable = ending === "unreachable";
  const refusal = isUnreachable && (await refusesPage(apiUrl)) ? "forbidden" : ending;
  if (isUnreachable && refusal === "forbidden" && !reported.has(apiUrl)) {
    reported.add(apiUrl);
    console.error(
      `Chat widget: the service refuses this page: add ${location.origin} to KEFU_ALLOWED_ORIGINS`,
    );
  }
  const text = texts[TEXTS[refusal as Refusal]];
  if (!text || !note.isConnected) return;
  note.firstChild?.replaceWith(text);
  speak(text);
  // Another attempt would be refused as well.
  if (!isUnreachable && refusal !== "verification_required") note.querySelector(".retry")?.remove();
}
