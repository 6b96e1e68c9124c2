/**
 * The running time limit. The limit detects that the device slept past it.
 *
 * A sleeping device or a frozen tab stops timers, and on waking the bytes are processed before the
 * timers. So a limit stores its due time by the wall clock; monotonic clocks may stop in sleep.
 */

import type { Limit } from "./machine.ts";

/** After a longer delay of a timer, the device has slept; a busy page delays timers less. */
export const SLEEP_MS = 2_000;

export class Deadline {
  readonly #expired: (limit: Limit, slept: boolean) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The due time in milliseconds since 1970; NaN without a running limit. */
  #due = Number.NaN;

  /** `expired` is called once for each limit, unless it was cancelled or replaced. */
  constructor(expired: (limit: Limit, slept: boolean) => void) {
    this.#expired = expired;
  }

  /** Starts a limit in place of the running limit. */
  start(limit: Limit, ms: number): void {
    this.cancel();
    this.#due = Date.now() + ms;
    this.#timer = setTimeout(() => {
      const slept = this.slept();
      this.cancel();
      this.#expired(limit, slept);
    }, ms);
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#due = Number.NaN;
  }

  /** Whether the running limit is long overdue. To be checked before arriving bytes are used. */
  slept(): boolean {
    return Date.now() - this.#due > SLEEP_MS;
  }
}
