/** Selects the newest turns that fit into a request or into storage. */

import type { Turn } from "../turn.ts";

export interface Message {
  readonly role: "user" | "assistant";
  readonly content: string;
}

type Exchange = Pick<Turn, "question" | "answer">;

/** Below the service's default limits (64 KiB, 200 messages), with space for the rest of the body. */
const MAX_BYTES = 60_000;
const MAX_MESSAGES = 100;

/**
 * The last question, and the exchanges before it that fit; the oldest are dropped first. Lone
 * surrogates (half an emoji) are replaced, because they cannot be encoded as UTF-8.
 */
export function outgoing(exchanges: readonly Exchange[]): readonly Message[] {
  const groups = exchanges.map(({ question, answer }, i): Message[] => {
    const asked: Message = { role: "user", content: question.toWellFormed() };
    const isLast = i === exchanges.length - 1;
    if (isLast || !answer) return [asked];
    return [asked, { role: "assistant", content: answer.toWellFormed() }];
  });
  const kept = newest(groups, (group) => group.length);
  // A question that is too long by itself is sent anyway: the service answers with an error.
  const messages = (kept.length === 0 ? groups.slice(-1) : kept)
    .flat()
    .filter(({ content }) => content);
  // Old libraries add toJSON to every array, which would turn the array into a string.
  return Object.assign(messages, { toJSON: undefined });
}

/** The newest turns below both limits; `count` returns the number of messages of a turn. */
export function newest<T>(groups: readonly T[], count: (group: T) => number): readonly T[] {
  let bytes = 0;
  let messages = 0;
  let first = groups.length;
  for (const group of groups.toReversed()) {
    bytes += new TextEncoder().encode(JSON.stringify(group)).length;
    messages += count(group);
    if (bytes > MAX_BYTES || messages > MAX_MESSAGES) break;
    first -= 1;
  }
  return groups.slice(first);
}
