/** Reads the service's events about tools. Events may come from storage, so nothing is certain. */

import { own } from "../../open/own.ts";
import type { Turn } from "../../open/turn.ts";

/** A call of a tool. The names of the states are those of the AI SDK, but for `output-unsure`. */
export interface Step {
  readonly id: string;
  readonly tool: string;
  readonly title: string;
  readonly state: string;
  /** For the message field of the contact form; "" for other tools than `ask_person`. */
  readonly summary: string;
}

/** A question to the visitor, without whose click nothing is changed. */
export interface Card {
  readonly id: string;
  /** The call that waits for the click. */
  readonly call: string;
  readonly text: string;
  /** Unix time in seconds. */
  readonly expires: number;
  /** `requested`, `approved`, `denied` or `expired` in a stored chat; "" in an answer in progress. */
  readonly state: string;
}

export interface Used {
  /** In the order of their first events, each with its last state. Without the call of the card. */
  readonly steps: readonly Step[];
  readonly card: Card | undefined;
  /** Whether the service has refused a click because its card is no longer valid. */
  readonly isGone: boolean;
}

export type CardState =
  | "asked"
  | "working"
  | "done"
  | "failed"
  | "unsure"
  /** The click has not reached the service, or its answer has failed before the call. */
  | "unfinished"
  | "declined"
  | "expired"
  | "gone"
  /** Clicked, and only the words of the answer say what happened. */
  | "answered";

/** The built-in tool that offers the contact form. */
export const ASK_PERSON = "ask_person";

const RUNNING = "input-available";

/** The first character of the message that a click becomes. */
const YES = "✓";
const NO = "✗";

const OUTCOMES: Readonly<Record<string, CardState>> = {
  "output-available": "done",
  "output-error": "failed",
  "output-unsure": "unsure",
  "output-denied": "declined",
};

/**
 * Whether the visitor reads of a step beside the answer; cards and the form show the others. A step
 * without a title has a tool that does not exist: its name is the model's.
 */
export function isShown({ tool, title, state }: Step): boolean {
  return (
    title !== "" && tool !== ASK_PERSON && !["approval-requested", "output-denied"].includes(state)
  );
}

export function usedOf(events: Turn["events"] = []): Used {
  const steps = new Map<string, Step>();
  let card: Card | undefined;
  for (const event of events) {
    const step = stepOf(own(event, "step"));
    // A further attempt of the message repeats the events: what is certain stays.
    const isRepeated = step?.state === RUNNING && steps.has(step.id);
    if (step && !isRepeated) steps.set(step.id, step);
    card = cardOf(own(event, "approval")) ?? card;
  }
  return {
    steps: [...steps.values()].filter(({ id }) => id !== card?.call),
    card,
    isGone: events.some((event) => own(event, "gone")),
  };
}

/** The state of a card. `later`: the turns after it; `due`: its expiry in milliseconds. */
export function stateOf(
  { id, state }: Card,
  later: readonly Turn[],
  due: number,
  now: number,
): CardState {
  const next = later.find(({ question }) => question);
  if (next?.id === id) return clicked(next);
  if (state === "expired") return state;
  if (next || state === "denied") return "declined";
  if (state === "approved") return "answered";
  return now >= due ? "expired" : "asked";
}

function clicked(turn: Turn): CardState {
  const { ending, events } = turn;
  const { steps, isGone } = usedOf(events);
  const [write] = steps;
  const outcome = OUTCOMES[write?.state ?? ""];
  // The click of another tab may have been the other one.
  if (outcome) return outcome;
  if (isGone) return "gone";
  const isApproved = isYes(turn);
  // A cut answer is taken up.
  if (isApproved && ["open", "disconnected", "cut"].includes(ending)) return "working";
  if (isApproved && (write || ending === "stopped")) return "unsure";
  if (ending === "whole" || ending === "open") return isApproved ? "answered" : "declined";
  return "unfinished";
}

/** The text of the message that a click becomes. */
export function clickText(isApproved: boolean, { text }: Card): string {
  return `${isApproved ? YES : NO} ${text}`;
}

/** Whether a click is a yes. */
export function isYes({ question }: Turn): boolean {
  return question.startsWith(YES);
}

function stepOf(value: unknown): Step | undefined {
  const [id, tool, title, state, summary] = texts(
    value,
    "tool_call_id",
    "tool",
    "title",
    "state",
    "summary",
  );
  if (id === "") return undefined;
  return { id, tool, title: title === tool ? readable(tool) : title, state, summary };
}

function cardOf(value: unknown): Card | undefined {
  const [id, call, text, state] = texts(value, "id", "tool_call_id", "text", "state");
  if (id === "") return undefined;
  return { id, call, text, state, expires: Number(own(value, "expires")) || 0 };
}

function texts(value: unknown, ...names: readonly string[]) {
  return names.map((name) => {
    const text = own(value, name);
    return typeof text === "string" ? text : "";
  }) as [string, string, string, string, string];
}

/** `order_status` as `Order status`. */
function readable(name: string): string {
  const text = name.replace(/[_-]+/g, " ").trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}
