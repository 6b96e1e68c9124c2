/** The calls of tools that stand between a question and its answer. */

import { button, type Child, el } from "./dom.ts";
import { isolated, seconds, t, tool, whole } from "./texts.ts";
import type { Call, Message, Step, Whole } from "./types.ts";

/** How the result of a call ends that was shortened in the stored chat. */
const CUT = " […]";

export interface Part {
  /** The calls before the text. */
  readonly steps: readonly Step[];
  readonly text: string;
}

/** An answer in parts: `at` counts the characters before a call, as Python does. */
export function partsOf(answer: string, steps: readonly Step[]): Part[] {
  const letters = [...answer];
  const places = [...new Set(steps.map(({ at }) => Math.min(at, letters.length)))].sort(
    (a, b) => a - b,
  );
  const starts = places[0] === 0 ? places : [0, ...places];
  return starts.map((start, n) => ({
    steps: places.includes(start)
      ? steps.filter(({ at }) => Math.min(at, letters.length) === start)
      : [],
    text: letters
      .slice(start, starts[n + 1])
      .join("")
      .trim(),
  }));
}

/** What became of a card: the click is a message of its own, whose id begins with the card's. */
export function outcomeOf(question: Message, step: Step, messages: readonly Message[]): string {
  if (step.state !== "asked") return step.state;
  const start = `approval-${question.id}-`;
  const click = messages.find((one) => one.client_message_id?.startsWith(start));
  if (click) {
    const answered = click.steps?.find(({ card }) => card);
    return answered?.state === "denied" ? "denied" : "approved";
  }
  if (messages.some(({ id, role }) => role === "user" && id > question.id)) return "passed";
  return step.expires * 1000 < Date.now() ? "expired" : "asked";
}

/** Whether a message of a visitor is a click on a card. */
export function isClick({ client_message_id: id }: Message): boolean {
  return Boolean(id?.startsWith("approval-"));
}

/** The whole result, from the record of a later request, if it is there. */
export function resultOf({ id, result }: Step, calls: readonly Call[]): string {
  if (!result.endsWith(CUT)) return result;
  const start = result.slice(0, -CUT.length);
  for (const { request } of calls.toReversed()) {
    const found = toolMessages(request).findLast(
      (one) => one.tool_call_id === id && String(one.content).startsWith(start),
    );
    if (found) return String(found.content);
  }
  return result;
}

interface ToolMessage {
  readonly role?: unknown;
  readonly tool_call_id?: unknown;
  readonly content?: unknown;
}

function toolMessages(request: string | null): ToolMessage[] {
  try {
    const { messages } = JSON.parse(request ?? "{}");
    return Array.isArray(messages) ? messages.filter((one) => one?.role === "tool") : [];
  } catch {
    return [];
  }
}

/** The record of the request whose answer contained the call; none for an approved call. */
export function callOf(
  step: Step,
  steps: readonly Step[],
  calls: readonly Call[],
): Call | undefined {
  const asksModel = (one: Step) => !one.card || one.state === "asked";
  if (!asksModel(step)) return undefined;
  const numbers = [...new Set(steps.filter(asksModel).map((one) => one.step))].sort(
    (a, b) => a - b,
  );
  const last = Math.max(0, ...calls.map(({ meta }) => meta.again ?? 0));
  const answers = calls.filter(
    ({ meta, error }) =>
      !meta.purpose && (meta.again ?? 0) === last && error?.code !== "context_length_exceeded",
  );
  return answers[numbers.indexOf(step.step)];
}

export function stepList(steps: readonly Step[], question: Message, kept: Whole): HTMLElement {
  const list = el("ol", { className: "steps", ariaLabel: tool.steps });
  for (const step of steps) list.append(el("li", {}, stepCard(step, question, kept)));
  return list;
}

function stepCard(step: Step, question: Message, kept: Whole): HTMLElement {
  const calls = kept.calls.filter(({ message_id }) => message_id === question.id);
  const outcome = outcomeOf(question, step, kept.messages);
  const isGood = !["failed", "unsure", "sending"].includes(outcome);
  const result = resultOf(step, calls);
  const call = callOf(step, question.steps ?? [], calls);
  return el(
    "details",
    { className: "tool step" },
    el(
      "summary",
      {},
      el("bdi", {}, step.title || step.name),
      " ",
      el("span", { className: `status ${isGood ? "good" : ""}` }, tool.state[outcome] ?? outcome),
      step.ms > 0 && el("span", { className: "muted" }, seconds(step.ms / 1000)),
    ),
    el("p", { className: "muted" }, el("code", {}, step.name), call && place(call, calls)),
    step.card && shown(tool.card, el("p", {}, isolated(step.card))),
    step.arguments && shown(tool.arguments, el("pre", { tabIndex: 0 }, pretty(step.arguments))),
    result && shown(tool.result, el("pre", { tabIndex: 0 }, pretty(result))),
    result.endsWith(CUT) && el("p", { className: "muted" }, tool.cut),
  );
}

function shown(name: string, value: HTMLElement): HTMLElement {
  return el("div", {}, el("p", { className: "muted" }, name), value);
}

/** Leads to the record of a request, and has its tokens. */
function place(call: Call, calls: readonly Call[]): Child {
  const to = () => document.getElementById(`c-${call.message_id}-${call.number}`)?.focus();
  const { prompt_tokens: prompt, completion_tokens: answer } = call;
  const tokens =
    prompt === null ? "" : ` · ${t.tokensN(`${whole(prompt)} + ${whole(answer ?? 0)}`)}`;
  return button({ className: "quiet" }, to, t.call(calls.indexOf(call) + 1) + tokens);
}

/** Indented, if it is JSON. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
