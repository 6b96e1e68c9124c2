/**
 * The one running time limit, and the knowledge of having slept through it.
 *
 * A laptop lid or a frozen tab stops timers, and the bytes that come on waking come first. So the
 * limit remembers when it is due by the wall clock (monotonic clocks may stand still in sleep).
 */

import type { Limit } from "./machine.ts";

/** Later than this after its time, a limit was not missed by a slow page but slept through. */
export const SLEEP_MS = 2_000;

export class Deadline {
  readonly #expired: (limit: Limit, slept: boolean) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** By the wall clock; in no time where none is running. */
  #due = Number.NaN;

  /** `expired` is called once for each limit that was started and neither cancelled nor replaced. */
  constructor(expired: (limit: Limit, slept: boolean) => void) {
    this.#expired = expired;
  }

  /** In place of the one that runs. */
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

  /** Whether the running limit's time passed long ago, unseen. Asked before anything is believed. */
  slept(): boolean {
    return Date.now() - this.#due > SLEEP_MS;
  }
}
