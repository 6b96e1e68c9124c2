/** Explains an answer in sentences, for an operator with a complaint. */

import { percent, seconds, t } from "./texts.ts";
import type { Call, Message } from "./types.ts";

const SLOW = 3;
const DRIFT = 0.15;
/**
 * Minimum number of tokens for a comparison: in shorter prompts, the tokens of the chat format
 * distort it.
 */
const ENOUGH = 500;

export interface Finding {
  readonly level: "bad" | "note";
  readonly text: string;
}

export function findings(call: Call, messages: readonly Message[]): Finding[] {
  const { damaged } = call.meta;
  if (damaged) return [{ level: "bad", text: t.why.damaged(damaged) }];
  const found: Finding[] = [];
  const bad = (text: string) => found.push({ level: "bad", text });
  const note = (text: string) => found.push({ level: "note", text });
  tries(call, bad, note);
  end(call, bad, note);
  prompt(call, bad, note);
  history(call, messages, note);
  const usage = call.prompt_tokens;
  const own = call.meta.local?.prompt;
  if (usage && usage >= ENOUGH && own && Math.abs(own - usage) / usage > DRIFT) {
    note(t.why.drift(percent(Math.abs(own - usage) / usage)));
  }
  return found;
}

/** Whether an attempt failed by itself, and was not ended because another key was faster. */
export function hasFailed(outcome: string): boolean {
  return !["ok", "overtaken", "cancelled"].includes(outcome);
}

type Say = (text: string) => void;

function tries(call: Call, bad: Say, note: Say): void {
  const { again } = call.meta;
  if (call.meta.purpose) note(t.why[call.meta.purpose]);
  if (again) note(t.why.again(again + 1));
  const attempts = call.meta.attempts ?? [];
  const failed = attempts.filter(({ outcome }) => hasFailed(outcome));
  const kinds = [...new Set(failed.map(({ outcome }) => outcome))].join(", ");
  if (call.error?.code === "context_length_exceeded") note(t.why.tooLong);
  else if (call.meta.attempts && attempts.length === 0) {
    if (call.error) bad(t.why.noTry);
  } else if (failed.length && failed.length === attempts.length) {
    bad(t.why.allFailed(failed.length, kinds));
    const waited = failed.filter(({ outcome }) => outcome === "silent").map(({ ms }) => ms / 1000);
    if (waited.length) note(t.why.patience(seconds(Math.max(...waited))));
  } else if (failed.length) note(t.why.rotated(failed.length, kinds));
}

function end(call: Call, bad: Say, note: Say): void {
  const code = call.error?.code;
  if (code === "client_gone") note(t.why.gone);
  else if (code && code !== "context_length_exceeded") bad(t.why.failed(code));
  if (call.finish_reason === "length") bad(t.why.length);
  else if (call.finish_reason === "content_filter") bad(t.why.filter);
  else if (!call.finish_reason && call.ttft !== null && code !== "client_gone") bad(t.why.cut);
  if (call.ttft !== null && call.ttft > SLOW) note(t.why.slow(seconds(call.ttft)));
}

function prompt(call: Call, bad: Say, note: Say): void {
  const trimmed = call.meta.trimmed;
  if (!trimmed) return;
  if (trimmed.dropped) note(t.why.dropped(trimmed.dropped, reasons(trimmed.reasons)));
  if (trimmed.fallback) note(t.why.fallback(trimmed.fallback));
  if (trimmed.over_budget) bad(t.why.over);
}

export function reasons(counts: Readonly<Record<string, number>>): string {
  return Object.keys(counts)
    .map((name) => t.reason[name] ?? name)
    .join(", ");
}

/** Reports messages that were not in the prompt for other reasons than trimming. */
function history(call: Call, messages: readonly Message[], note: Say): void {
  const read = call.meta.history?.read;
  if (read === undefined || call.meta.purpose) return;
  const earlier = messages.filter(({ id }) => id < call.message_id);
  const wrong = earlier.filter(({ status }) => status !== "ok");
  const beyond = earlier.length - wrong.length - read;
  if (beyond > 0) note(t.why.old(beyond));
  if (wrong.length) note(t.why.unsent(wrong.length));
}

/**
 * The messages that trimming left out. `undefined` if positions do not identify messages: hooks have
 * changed the history, or the prompt has calls of tools with their results.
 */
export function leftOut(
  call: Call,
  messages: readonly Message[],
): { ids: readonly number[]; reason: string }[] | undefined {
  const { trimmed, history: told } = call.meta;
  if (!trimmed || !told || told.read !== told.told) return undefined;
  if (messages.some(({ id, steps }) => id <= call.message_id && steps)) return undefined;
  const before = messages.filter(({ id, status }) => id < call.message_id && status === "ok");
  if (before.length < told.read) return undefined;
  const ids = before.slice(before.length - told.read).map(({ id }) => id);
  // Before the history there may be a system message. A summary is kept in addition.
  const summaries = trimmed.reasons.summarized ? 1 : 0;
  const first = trimmed.kept + trimmed.dropped - summaries - told.told - 1;
  return trimmed.left_out.map(([start, stop, reason]) => ({
    ids: ids.slice(start - first, stop - first),
    reason,
  }));
}
