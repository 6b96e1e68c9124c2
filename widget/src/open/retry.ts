/**
 * Decides whether and when a failed attempt is followed by another. Pure functions: chance and time
 * are arguments.
 */

import type { Code, Refusal, Trouble } from "./turn.ts";

const CODES: readonly Code[] = [
  "invalid_request",
  "rate_limit_exceeded",
  "upstream_service_unavailable",
  "gateway_timeout",
];

export interface Attempts {
  /** Number of requests for this message, since the visitor sent or retried it. */
  readonly made: number;
  /** The number of requests that timed out. */
  readonly timeouts: number;
  /** `data-retry`: maximum number of automatic retries. */
  readonly retries: number;
}

export const FIRST_BACK_OFF_MS = 1_000;
/** Maximum wait before a retry. For a longer wait, the visitor gets a Retry button instead. */
export const LONGEST_WAIT_MS = 60_000;

/** Milliseconds until the next attempt; undefined: there is none, and the visitor sees the error. */
export function nextTry(
  code: Trouble,
  retryAfterMs: number | undefined,
  attempts: Attempts,
  chance: number,
): number | undefined {
  if (attempts.made > attempts.retries) return undefined;
  if (code === "gateway_timeout") return attempts.timeouts > 1 ? undefined : 0;
  const isBusy = code === "upstream_service_unavailable" && retryAfterMs !== undefined;
  if (code !== "rate_limit_exceeded" && !isBusy) return undefined;
  const backOff = FIRST_BACK_OFF_MS * 2 ** (attempts.made - 1);
  const jitter = (chance * backOff) / 2;
  if (retryAfterMs === undefined) return backOff / 2 + jitter;
  // At least Retry-After, with jitter, so that not all visitors retry at once. A busy
  // service says the same second to all, so each of their waits is longer than the last.
  const wait = isBusy ? Math.max(retryAfterMs, backOff) : retryAfterMs;
  return wait > LONGEST_WAIT_MS ? undefined : wait + jitter;
}

/** `Retry-After` in milliseconds, from seconds or an HTTP date; undefined if it is neither. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  const value = header?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1_000;
  // Date.parse would accept "-5" as a year.
  if (!/^[A-Za-z]{3}, /.test(value)) return undefined;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** The error code for an HTTP status other than 200. `said`: the `code` in the body, if any. */
export function codeOfStatus(status: number, said?: unknown): Code | Refusal {
  if (status === 429) return said === "budget_exhausted" ? said : "rate_limit_exceeded";
  if (status === 401 || status === 403)
    return said === "verification_required" ? said : "forbidden";
  if (status === 413) return "too_large";
  if (status === 504 || status === 408) return "gateway_timeout";
  // An earlier attempt of this message is still running in the service: a retry may succeed soon.
  if (status === 409) return "upstream_service_unavailable";
  return status >= 400 && status < 500 ? "invalid_request" : "upstream_service_unavailable";
}

/** The code of an error event; an unknown code counts as `upstream_service_unavailable`. */
export function codeOf(code: unknown): Code {
  if (code === "context_length_exceeded") return "invalid_request";
  return CODES.find((known) => known === code) ?? "upstream_service_unavailable";
}
