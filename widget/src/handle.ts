/** `window.ChatWidget`: what the page's own scripts may do with the widget, and be told of. */

import type { Rating } from "./conversation.ts";
import type { Trouble } from "./retry.ts";

/** The `detail` of each `chat-widget:…` event; `id` is the same for a question and its answer. */
export interface EventDetails {
  readonly open: Readonly<Record<string, never>>;
  readonly close: Readonly<Record<string, never>>;
  readonly message: {
    readonly id: string;
    readonly role: "user" | "assistant";
    readonly text: string;
  };
  /** Text as it arrives; an answer that is asked for again starts over. */
  readonly delta: { readonly id: string; readonly text: string };
  /** What the visitor thinks of an answer; `none` takes it back. */
  readonly feedback: { readonly id: string; readonly rating: Rating };
  readonly error: { readonly id: string; readonly code: Trouble };
}

export type EventName = keyof EventDetails;

/** What the chat does, once it is there. */
export interface Acts {
  open(): void;
  close(): void;
  toggle(): void;
  /** Opens and asks. Ignored while an answer is under way. */
  send(text: string): void;
  /** Starts a new conversation. */
  reset(): void;
  /** Takes the widget off the page; the script may be included again later. */
  destroy(): void;
}

export interface ChatWidget extends Acts {
  /** Calls `told` with each event's detail; the result ends that. */
  on<Name extends EventName>(name: Name, told: (detail: EventDetails[Name]) => void): () => void;
}

/** What waits for the chat. */
export const WAITING = ["open", "close", "toggle", "send", "reset"] as const;
