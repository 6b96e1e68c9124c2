/**
 * Named time limits, and the knowledge of having slept through one.
 *
 * A laptop lid or a frozen tab stops timers, and the bytes that come on waking come first. So each
 * limit remembers when it was due by the wall clock (monotonic clocks may stand still in sleep).
 */

import type { Limit } from "./machine.ts";

/** Later than this after its time, a limit was not missed by a slow page but slept through. */
export const SLEEP_MS = 2_000;

interface Running {
  readonly timer: ReturnType<typeof setTimeout>;
  readonly due: number;
}

export class Deadlines {
  readonly #running = new Map<Limit, Running>();
  readonly #expired: (limit: Limit, slept: boolean) => void;

  /** `expired` is called once for each limit that was started and not cancelled in time. */
  constructor(expired: (limit: Limit, slept: boolean) => void) {
    this.#expired = expired;
  }

  start(limit: Limit, ms: number): void {
    this.cancel(limit);
    const due = Date.now() + ms;
    const timer = setTimeout(() => {
      this.#running.delete(limit);
      this.#expired(limit, isLate(due));
    }, ms);
    this.#running.set(limit, { timer, due });
  }

  cancel(limit: Limit): void {
    const running = this.#running.get(limit);
    if (!running) return;
    clearTimeout(running.timer);
    this.#running.delete(limit);
  }

  /** Whether a running limit's time passed long ago, unseen. Asked before anything is believed. */
  slept(): boolean {
    for (const { due } of this.#running.values()) if (isLate(due)) return true;
    return false;
  }
}

function isLate(due: number): boolean {
  return Date.now() - due > SLEEP_MS;
}
