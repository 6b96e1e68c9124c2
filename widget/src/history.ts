/** What of a conversation goes out with a question, or is kept: the newest that the service accepts. */

export interface Message {
  readonly role: "user" | "assistant";
  readonly content: string;
}

export interface Exchange {
  readonly question: string;
  readonly answer: string;
}

/** Below the service's defaults (64 KiB, 200 messages), with room for the rest of the body. */
const MAX_BYTES = 60_000;
const MAX_MESSAGES = 100;

/**
 * The last question, and as many whole exchanges before it as fit, oldest dropped first.
 * Well-formed: a lone surrogate (half an emoji) is no text for any server.
 */
export function outgoing(exchanges: readonly Exchange[]): readonly Message[] {
  const groups = exchanges.map(({ question, answer }, i): Message[] => {
    const asked: Message = { role: "user", content: question.toWellFormed() };
    const isLast = i === exchanges.length - 1;
    if (isLast || !answer) return [asked];
    return [asked, { role: "assistant", content: answer.toWellFormed() }];
  });
  const kept = newest(groups, (group) => group.length);
  // What the visitor asked goes out even where it alone is too much: the service says so.
  return (kept.length === 0 ? groups.slice(-1) : kept).flat();
}

/** As many of the newest as stay below both limits together; `count` says how many messages one is. */
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
