// What of the context engine another implementation has to agree on, as small as it can be. It is
// held against the same vectors as the Python one; nothing of it is part of the widget.

export type Message = { readonly role: string; readonly content: string };

export function estimateMessageTokens(text: string): number {
  return Math.ceil(new TextEncoder().encode(text).length / 4);
}

export function estimateChars4(text: string): number {
  return Math.ceil(text.length / 4);
}

const HAN = /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}]/u;

export function estimateTokensV1(text: string): number {
  const characters = [...text];
  const han = characters.filter((character) => HAN.test(character)).length;
  return Math.ceil((20 * han + 3 * (characters.length - han)) / 10);
}

export function buildLLMMessages(args: {
  readonly systemPrompt: string;
  readonly history: readonly Message[];
  readonly currentUserMessage: string;
  readonly maxTokenBudget: number;
}): Message[] {
  const system: Message = { role: "system", content: args.systemPrompt };
  const current: Message = { role: "user", content: args.currentUserMessage };
  const history = [...args.history];
  const total = () =>
    [system, ...history, current].reduce((sum, m) => sum + estimateMessageTokens(m.content), 0);
  while (history.length > 0 && total() > args.maxTokenBudget) history.shift();
  return [system, ...history, current];
}

// The positions of the kept messages.
export function truncateV1(messages: readonly Message[], maxChars: number): number[] {
  let kept = [...messages.keys()];
  const roleOf = (at: number) => messages[at]?.role;
  const total = () => kept.reduce((sum, at) => sum + (messages[at]?.content.length ?? 0), 0);
  if (total() <= maxChars) return kept;
  while (total() >= maxChars) {
    const users = kept.filter((at) => roleOf(at) === "user");
    const end = users[1] ?? users[0] ?? 0;
    const rest = kept.filter((at) => at >= end || roleOf(at) === "system");
    if (rest.length === kept.length) return kept;
    kept = rest;
  }
  return kept;
}
