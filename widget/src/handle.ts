/** `window.ChatWidget`: what the page's own scripts may do with the widget, and be told of. */

import type { Trouble } from "./retry.ts";
import type { Widget } from "./widget.ts";

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
  readonly error: { readonly id: string; readonly code: Trouble };
}

export type EventName = keyof EventDetails;

export interface ChatWidget {
  open(): void;
  close(): void;
  toggle(): void;
  /** Opens and asks. Ignored while an answer is under way. */
  send(text: string): void;
  /** Starts a new conversation. */
  reset(): void;
  /** Takes the widget off the page; the script may be included again later. */
  destroy(): void;
  /** Calls `told` with each event's detail; the result ends that. */
  on<Name extends EventName>(name: Name, told: (detail: EventDetails[Name]) => void): () => void;
}

/** `forgotten` is called when the page has had enough of the widget. */
export function handleOf(widget: Widget, forgotten: () => void): ChatWidget {
  return {
    open: () => widget.open(),
    close: () => widget.close(),
    toggle: () => widget.toggle(),
    send: (text) => widget.send(String(text)),
    reset: () => widget.reset(),
    destroy() {
      widget.destroy();
      forgotten();
    },
    on(name, told) {
      const heard = (event: Event): void => told((event as CustomEvent).detail);
      widget.host.addEventListener(`chat-widget:${name}`, heard);
      return () => widget.host.removeEventListener(`chat-widget:${name}`, heard);
    },
  };
}
