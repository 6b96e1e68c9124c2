/** What of a conversation goes out with a question: the newest that the service accepts. */

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

/** The last question, and as many whole exchanges before it as fit, oldest dropped first. */
export function outgoing(exchanges: readonly Exchange[]): readonly Message[] {
  const groups = exchanges.map(({ question, answer }, i): Message[] => {
    const asked: Message = { role: "user", content: wellFormed(question) };
    const isLast = i === exchanges.length - 1;
    if (isLast || answer === "") return [asked];
    return [asked, { role: "assistant", content: wellFormed(answer) }];
  });
  const kept: Message[][] = [];
  let bytes = 0;
  let count = 0;
  for (const group of groups.reverse()) {
    bytes += new TextEncoder().encode(JSON.stringify(group)).length;
    count += group.length;
    if (kept.length > 0 && (bytes > MAX_BYTES || count > MAX_MESSAGES)) break;
    kept.push(group);
  }
  return kept.reverse().flat();
}

/** A lone surrogate (half an emoji) is no text for any server. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}
