/**
 * The state machine of a connection, as data.
 *
 * A time limit belongs to a state. A time limit starts whenever the state is entered, also again:
 * every byte enters `streaming` anew. A time limit is cancelled when the state is left, so no timer
 * outlives its state. The module has no imports, so the table can be read and tested alone.
 */

export type State =
  | "idle"
  | "connecting"
  | "awaiting-first-byte"
  | "streaming"
  | "disconnected"
  | "failed";

export type Event =
  /** The visitor sends a message or retries a message. */
  | "send"
  /** The wait before a request has ended, and the request is sent. */
  | "open"
  /** Bytes of the stream arrived, including comments. */
  | "byte"
  /** The attempt failed without any text, and another attempt is allowed. */
  | "again"
  /** The answer is complete: it has a finish_reason and [DONE]. */
  | "done"
  /** The visitor pressed Stop. */
  | "stop"
  /** The stream stalled or broke, or the tab slept or was left. */
  | "lost"
  /** The service refused the request, or the stream ended without [DONE]. */
  | "fail";

/** A named time limit; `deadline.ts` runs it. */
export type Limit = "back-off" | "first-byte" | "stall";

export interface Step {
  readonly state: State;
  /** The time limit that starts with the step and replaces any other. */
  readonly limit: Limit | undefined;
}

export const STATES: readonly State[] = [
  "idle",
  "connecting",
  "awaiting-first-byte",
  "streaming",
  "disconnected",
  "failed",
];

export const EVENTS: readonly Event[] = [
  "send",
  "open",
  "byte",
  "again",
  "done",
  "stop",
  "lost",
  "fail",
];

/** The time limits of the states. */
export const LIMITS: Readonly<Partial<Record<State, Limit>>> = {
  connecting: "back-off",
  "awaiting-first-byte": "first-byte",
  streaming: "stall",
};

export const TRANSITIONS: Readonly<Record<State, Readonly<Partial<Record<Event, State>>>>> = {
  idle: { send: "connecting" },
  connecting: {
    open: "awaiting-first-byte",
    stop: "idle",
    lost: "disconnected",
  },
  "awaiting-first-byte": {
    byte: "streaming",
    again: "connecting",
    stop: "idle",
    lost: "disconnected",
    fail: "failed",
  },
  streaming: {
    byte: "streaming",
    again: "connecting",
    done: "idle",
    stop: "idle",
    lost: "disconnected",
    fail: "failed",
  },
  disconnected: { send: "connecting" },
  failed: { send: "connecting" },
};

/** The step for `event` in `state`; undefined if the state ignores the event. */
export function step(state: State, event: Event): Step | undefined {
  const next = TRANSITIONS[state][event];
  return next && { state: next, limit: LIMITS[next] };
}

/** Whether an answer is in progress: the composer shows Stop, and a second send is ignored. */
export function isBusy(state: State): boolean {
  return LIMITS[state] !== undefined;
}
