/**
 * What a connection may do next: the whole of it, as data.
 *
 * A time limit belongs to a state: it starts when its state is entered (again, too: every byte
 * enters `streaming` anew) and is cancelled when the state is left, so that no timer can outlive
 * what it watches. Nothing is imported, so the table can be read and tested alone.
 */

export type State =
  | "idle"
  | "connecting"
  | "awaiting-first-byte"
  | "streaming"
  | "disconnected"
  | "failed";

export type Event =
  /** The visitor sends, or asks to try again. */
  | "send"
  /** The wait before the request is over and the request has gone out. */
  | "open"
  /** Any byte of the stream, a comment too. */
  | "byte"
  /** This try failed, nothing of it was shown, and one more is allowed. */
  | "again"
  /** The answer is whole: a finish_reason and [DONE]. */
  | "done"
  /** The visitor pressed Stop. */
  | "stop"
  /** Silence, a cut line, a tab that slept or was left. */
  | "lost"
  /** The service said no, or the answer ended without its end. */
  | "fail";

/** A named time limit; `deadline.ts` runs it. */
export type Limit = "back-off" | "first-byte" | "stall";

export interface Step {
  readonly state: State;
  /** The limit that starts in place of any other. */
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

/** Of the states that wait for something. */
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

/** The step that `event` makes in `state`, or undefined where it means nothing. */
export function step(state: State, event: Event): Step | undefined {
  const next = TRANSITIONS[state][event];
  return next && { state: next, limit: LIMITS[next] };
}

/** Whether an answer is under way, so that the composer offers Stop and refuses a second send. */
export function isBusy(state: State): boolean {
  return LIMITS[state] !== undefined;
}
