/** Pauses in a conversation. */

import type { Turn } from "../open/turn.ts";

const PAUSE_MS = 3_600_000;

/** Whether the turn in `node` was written an hour after the turn above it; for the first one, an hour ago. */
export function isAfterPause(node: HTMLElement, { at }: Turn): boolean {
  if (!at) return false;
  const before = Number((node.previousElementSibling as HTMLElement | null)?.dataset.at);
  return (before ? at - before : Date.now() - at) > PAUSE_MS;
}
