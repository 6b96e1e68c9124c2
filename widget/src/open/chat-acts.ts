/** The functions of the chat that the menu and the features use. */

import type { AnswerSource } from "./conversation.ts";
import type { KeptChat } from "./transport/transport.ts";
import type { Turn } from "./turn.ts";

export interface ChatActs {
  /** Sends a request to the path `rest` below the address of the stored chat. */
  readonly request: KeptChat["request"];
  /** Starts a new conversation. */
  renew(): void;
  /**
   * Shows the line of a person, above the questions with the ids `newer`. Returns false while an answer
   * is in progress.
   */
  said(turn: Turn, newer: readonly unknown[]): boolean;
  /** Stores whether a person may write, so that the next page looks for their lines. */
  waits(isWaiting: boolean): void;
  /** Requests the last answer again, from `from`, after it ended without being complete. */
  resume(from: AnswerSource): void;
  /** All turns of the conversation, in order. */
  turns(): readonly Turn[];
  /**
   * Sends `text` as the message with `id`, by default a new one, after the visitor's consent; with `isEdit`
   * in place of the last question. Does nothing during an answer.
   */
  send(text: string, id?: string, isEdit?: boolean): void;
}
