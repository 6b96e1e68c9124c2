/** Merges a chat that the service stores with the turns that this browser has. */

import { lineOf } from "../../open/line.ts";
import { own } from "../../open/own.ts";
import { sourcesOf } from "../../open/sources.ts";
import type { Turn } from "../../open/turn.ts";

/** The first character of the message that a click on a card becomes. */
const CLICKS = new Map([
  ["✓", "approved"],
  ["✗", "denied"],
]);

const ENDINGS = new Map<unknown, Turn["ending"]>([
  ["ok", "whole"],
  ["partial", "stopped"],
  ["failed", "upstream_service_unavailable"],
  // The turn is being answered.
  ["pending", "open"],
]);

/** The service's messages as turns. Only the ids of clicks on cards are known. */
export function turnsOf(value: unknown): readonly Turn[] {
  const turns: Turn[] = [];
  const messages = own(value, "messages");
  for (const message of Array.isArray(messages) ? messages : []) {
    const content = own(message, "content");
    const last = turns.at(-1);
    if (typeof content !== "string") continue;
    const seconds = own(message, "created_at");
    const time = typeof seconds === "number" ? { at: seconds * 1_000 } : {};
    const person = own(message, "operator");
    if (typeof person === "string") {
      const id = `person-${own(message, "id")}`;
      const answer = String(lineOf(message));
      turns.push({ ...time, id, question: "", answer, ending: "whole", person });
    } else if (own(message, "role") === "user") {
      const ending = ENDINGS.get(own(message, "status")) ?? "disconnected";
      const named = own(message, "images");
      const images = Array.isArray(named) ? named : undefined;
      const id = idOf(content, last);
      turns.push({ ...time, id, question: content, answer: "", ending, images });
    } else if (last) {
      last.answer = content;
      const events = eventsOf(message);
      if (events.length > 0) last.events = events;
      const sources = sourcesOf(own(message, "sources"), own(value, "links"), []);
      // The service stores only the pages that the answer cites.
      if (sources) last.sources = { ...sources, cited: sources.pages.map(({ number }) => number) };
    }
  }
  return turns;
}

/** What the service stores about tools, as the events that an answer in progress has. */
function eventsOf(message: unknown): unknown[] {
  const [steps, approval] = ["steps", "approval"].map((name) => own(message, name));
  const events: unknown[] = Array.isArray(steps) ? steps.map((step) => ({ step })) : [];
  return approval ? [...events, { approval }] : events;
}

/** The id of a message: that of the card of `before` if it is the click on the card, else empty. */
function idOf(content: string, before: Turn | undefined): string {
  const card = own(before?.events?.at(-1), "approval");
  const [id, state, text] = ["id", "state", "text"].map((name) => own(card, name));
  const isSameText = content.slice(2) === text;
  // Only the service knows whether the visitor has typed the same words.
  return isSameText && state && state === CLICKS.get(content.charAt(0)) ? `${id}` : "";
}

/**
 * Merges stored and local turns. The service's texts take precedence. Only the browser has ids,
 * ratings, the reason for an early end, older turns, and questions that never reached the service.
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
    const { answer, sources, events } = ending === "open" ? mine : turn;
    const { images } = turn;
    all.unshift({ ...mine, answer, sources, events, images, ending }, ...local.slice(at + 1, left));
    left = at;
  }
  return [...local.slice(0, left), ...all];
}

/** The service trims questions, and may have a longer or a shorter part of an answer. */
function isSame(kept: Turn, mine: Turn): boolean {
  if (kept.person) return kept.id === mine.id;
  const [one, other] = [kept.answer.trim(), mine.answer.trim()];
  return (
    bare(kept.question) === bare(mine.question) && (one.startsWith(other) || other.startsWith(one))
  );
}

function bare(text: string): string {
  return text.replace(/\s+/g, "");
}
