/** Dispatches the events for the page's own scripts; handle.ts describes each event. */

import type { EventDetails, EventName } from "../handle.ts";
import type { Turn } from "./turn.ts";
import { isFinished } from "./turn.ts";

/** The browser reports errors of an event handler; they do not affect the widget. */
export function announce<Name extends EventName>(
  host: HTMLElement,
  name: Name,
  detail: EventDetails[Name],
): void {
  host.dispatchEvent(new CustomEvent(`chat-widget:${name}`, { detail, bubbles: true }));
}

export function announceEnd(host: HTMLElement, { id, answer, ending }: Turn): void {
  if (isFinished(ending)) announce(host, "message", { id, role: "assistant", text: answer });
  else if (ending !== "open") announce(host, "error", { id, code: ending });
}
