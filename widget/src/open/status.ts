/** The texts for the state of the conversation. */

import type { Texts } from "./english.ts";
import { isBusy, type State } from "./machine.ts";
import type { Ending, Waiting } from "./turn.ts";

/** The line below the title. */
export function statusOf(
  texts: Texts,
  isOnline: boolean,
  { state, isAnswering }: { readonly state: State; readonly isAnswering: boolean },
): string {
  if (!isOnline) return texts.offline;
  if (!isBusy(state)) return texts.ready;
  return isAnswering ? texts.answering : texts.thinking;
}

/** The reason why the question has not been sent yet, if the visitor should know it. */
export function noticeOf(texts: Texts, waiting: Waiting | undefined): string | undefined {
  if (waiting === undefined) return undefined;
  return waiting === "offline" ? texts.sendingWaits : texts.endings[waiting];
}

/** The note about an ending; the feature `refusal` has better words for some. */
export function endingText({ endings }: Texts, ending: Ending): string {
  return (endings as Partial<Record<Ending, string>>)[ending] ?? endings.invalid_request;
}
