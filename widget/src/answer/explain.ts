/** Says more about a refused message than the chat itself does: to the visitor, and to the site's owner. */

import type { Ending, Refusal } from "../open/turn.ts";
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

/** Replaces the text of the note at the end of `root`. `offer` adds a button for the contact form. */
export async function explain(
  root: ShadowRoot | null,
  texts: AnswerTexts,
  speak: (text: string) => void,
  ending: Ending,
  apiUrl: string,
  offer: (note: HTMLElement) => void,
): Promise<void> {
  const note = root?.querySelector<HTMLElement>(".turn:last-child > .trouble");
  const isUnreachable = ending === "unreachable";
  const refusal = isUnreachable && (await refusesPage(apiUrl)) ? "forbidden" : ending;
  if (isUnreachable && refusal === "forbidden" && !reported.has(apiUrl)) {
    reported.add(apiUrl);
    console.error(
      `Chat widget: the service refuses this page: add ${location.origin} to KEFU_ALLOWED_ORIGINS`,
    );
  }
  const text = texts[TEXTS[refusal as Refusal]];
  if (!text || !note?.isConnected) return;
  note.firstChild?.replaceWith(text);
  speak(text);
  // Another attempt would be refused as well.
  if (!isUnreachable && refusal !== "verification_required") note.querySelector(".retry")?.remove();
  if (refusal === "budget_exhausted") offer(note);
}
