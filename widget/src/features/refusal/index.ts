/**
 * Says more about a refused message than the chat itself does: to the visitor, and to the site's owner. Where
 * this file cannot be fetched, the service cannot say more either.
 */

import type { Feature, Kit } from "../../answer/feature.ts";
import type { Refusal, Turn } from "../../open/turn.ts";
import { refusesPage } from "./probe.ts";

/** In English. */
export const ENGLISH = {
  refused: "The chat is not available on this page.",
  tooLong: "The message is too long. Please shorten it.",
  spent: "There are no answers left for today. Please come back tomorrow.",
  notHuman: "The check for robots did not pass. Please try again.",
};

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<typeof ENGLISH> {}
}

const TEXTS: Readonly<Record<Refusal, keyof typeof ENGLISH>> = {
  forbidden: "refused",
  too_large: "tooLong",
  budget_exhausted: "spent",
  verification_required: "notHuman",
};

/** The addresses of services whose refusal is on the console already. */
const reported = new Set<string>();

export default function refusal({ texts, speak, apiUrl }: Kit): Feature {
  const words = { ...ENGLISH, ...texts };
  /** Replaces the text of `note`. */
  const explain = async (note: HTMLElement, { ending }: Turn): Promise<void> => {
    const isUnreachable = ending === "unreachable";
    const reason = isUnreachable && (await refusesPage(apiUrl.href)) ? "forbidden" : ending;
    if (isUnreachable && reason === "forbidden" && !reported.has(apiUrl.href)) {
      reported.add(apiUrl.href);
      console.error(
        `Chat widget: the service refuses this page: add ${location.origin} to KEFU_ALLOWED_ORIGINS`,
      );
    }
    const text = words[TEXTS[reason as Refusal]];
    if (!text || !note.isConnected) return;
    note.firstChild?.replaceWith(text);
    speak(text);
    // Another attempt would be refused as well.
    if (!isUnreachable && reason !== "verification_required")
      note.querySelector(".retry")?.remove();
  };
  return { failed: explain };
}
