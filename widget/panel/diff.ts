/** The differences between two requests: message by message, and the other fields. */

export interface Told {
  readonly role: string;
  readonly content: string;
}

export interface Change {
  readonly kind: "same" | "gone" | "new";
  readonly messages: readonly Told[];
}

/** The messages in the body of a request; empty if the body is not a chat request. */
export function messagesOf(body: unknown): Told[] {
  const list = (body as { messages?: unknown } | null)?.messages;
  if (!Array.isArray(list)) return [];
  return list.map((one: { role?: unknown; content?: unknown; tool_calls?: unknown }) => {
    const { content, tool_calls: calls } = one ?? {};
    const text = typeof content === "string" ? content : JSON.stringify(content ?? "");
    const parts = [calls && text === '""' ? "" : text, calls ? JSON.stringify(calls) : ""];
    return { role: String(one?.role ?? ""), content: parts.filter(Boolean).join("\n") };
  });
}

/** Runs of kept, removed and added messages, by a longest common subsequence. */
export function changes(before: readonly Told[], after: readonly Told[]): Change[] {
  const [a, b] = [before.map(nameOf), after.map(nameOf)];
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const row = lengths[i] as Uint16Array;
      row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const runs: { kind: Change["kind"]; messages: Told[] }[] = [];
  const add = (kind: Change["kind"], message: Told | undefined) => {
    if (!message) return;
    const last = runs.at(-1);
    if (last?.kind === kind) last.messages.push(message);
    else runs.push({ kind, messages: [message] });
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      add("same", before[i++]);
      j++;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      add("gone", before[i++]);
    } else add("new", after[j++]);
  }
  return runs;
}

/** Fields other than the messages that differ: `[name, before, after]`. */
export function fields(before: unknown, after: unknown): [string, string, string][] {
  const [a, b] = [before, after].map((body) => (body ?? {}) as Record<string, unknown>) as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return names
    .filter((name) => name !== "messages")
    .map((name) => [name, text(a[name]), text(b[name])] as [string, string, string])
    .filter(([, was, is]) => was !== is);
}

function nameOf({ role, content }: Told): string {
  return `${role} ${content}`;
}

function text(value: unknown): string {
  return value === undefined ? "–" : JSON.stringify(value);
}
