/** The texts for the state of the conversation. */

import { isBusy, type State } from "./machine.ts";
import type { Texts } from "./texts.ts";
import type { Waiting } from "./turn.ts";

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
