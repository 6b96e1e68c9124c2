/** A chat that the service keeps, and how it and what this browser knows become one. */

import type { Turn } from "./conversation.ts";
import { own } from "./own.ts";

/** Which chat it is, and the proof that it is the visitor's. */
export interface Session {
  readonly id: string;
  readonly token: string;
}

export function sessionOf(value: unknown): Session | undefined {
  const [id, token] = [own(value, "id"), own(value, "token")];
  return typeof id === "string" && typeof token === "string" ? { id, token } : undefined;
}

const ENDINGS = new Map<unknown, Turn["ending"]>([
  ["ok", "whole"],
  ["partial", "stopped"],
  ["failed", "upstream_service_unavailable"],
]);

/** What the service said, as turns. It knows no `client_message_id`, so theirs are empty. */
export function turnsOf(value: unknown): readonly Turn[] {
  const turns: Turn[] = [];
  const messages = own(value, "messages");
  for (const message of Array.isArray(messages) ? messages : []) {
    const content = own(message, "content");
    const last = turns.at(-1);
    if (typeof content !== "string") continue;
    if (own(message, "role") === "user") {
      const ending = ENDINGS.get(own(message, "status")) ?? "disconnected";
      turns.push({ id: "", question: content, answer: "", ending });
    } else if (last) last.answer = content;
  }
  return turns;
}

/**
 * One conversation of both: the service's word counts, but only this browser knows ids, ratings,
 * why an answer ended early, what is older, and what never arrived there.
 */
export function merged(kept: readonly Turn[], local: readonly Turn[]): readonly Turn[] {
  const all: Turn[] = [];
  let left = local.length;
  for (const turn of [...kept].reverse()) {
    let at = left - 1;
    while (at >= 0 && !isSame(turn, local[at] as Turn)) at -= 1;
    const mine = local[at];
    if (mine === undefined) {
      all.unshift(turn);
      continue;
    }
    const ending = turn.ending === "stopped" && mine.ending !== "whole" ? mine.ending : turn.ending;
    all.unshift({ ...mine, answer: turn.answer, ending }, ...local.slice(at + 1, left));
    left = at;
  }
  return [...local.slice(0, left), ...all];
}

/** The service trims what was asked, and may have more of an answer, or less. */
function isSame(kept: Turn, mine: Turn): boolean {
  const [one, other] = [kept.answer.trim(), mine.answer.trim()];
  return (
    bare(kept.question) === bare(mine.question) && (one.startsWith(other) || other.startsWith(one))
  );
}

function bare(text: string): string {
  return text.replace(/\s+/g, "");
}
