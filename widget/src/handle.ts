/** `window.ChatWidget`: the functions and events for the page's own scripts. */

import type { PageTools } from "./features/page-tools/tool.ts";
import type { Rating, Trouble } from "./open/turn.ts";

/** The `detail` of each `chat-widget:…` event; `id` is the same for a question and its answer. */
export interface EventDetails {
  readonly open: Readonly<Record<string, never>>;
  readonly close: Readonly<Record<string, never>>;
  readonly message: {
    readonly id: string;
    readonly role: "user" | "assistant";
    readonly text: string;
  };
  /** Called with each arriving text. A new answer starts again from the beginning. */
  readonly delta: { readonly id: string; readonly text: string };
  /** The visitor's rating of an answer; `none` removes the rating. */
  readonly feedback: { readonly id: string; readonly rating: Rating };
  readonly error: { readonly id: string; readonly code: Trouble };
}

export type EventName = keyof EventDetails;

/** The functions that the chat implements once it is loaded. */
export interface Acts {
  open(): void;
  close(): void;
  toggle(): void;
  /** Opens the panel and sends a question. Does nothing while an answer is in progress. */
  send(text: string): void;
  /** Starts a new conversation. */
  reset(): void;
  /** Removes the widget from the page; the script may be included again later. */
  destroy(): void;
}

export interface ChatWidget extends Acts {
  /** Replaces the facts about the page, which are sent with each question. */
  context(facts: unknown): void;
  /** Replaces the tools of the page, by name: the visitor approves each call, and the page carries it out. */
  tools(tools: PageTools): void;
  /** Calls `told` with the detail of each event. Call the returned function to unsubscribe. */
  on<Name extends EventName>(name: Name, told: (detail: EventDetails[Name]) => void): () => void;
}

/** The calls that wait until the chat is loaded. */
export const WAITING = ["open", "close", "toggle", "send", "reset"] as const;
