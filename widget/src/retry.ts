/**
 * Whether a failed try is followed by another, and when. Values in, values out: chance and time
 * are arguments.
 */

const CODES = [
  "invalid_request",
  "rate_limit_exceeded",
  "upstream_service_unavailable",
  "gateway_timeout",
] as const;

export type Code = (typeof CODES)[number];

export type Trouble =
  | Code
  /** No connection at all: refused, no such host, a wrong certificate, or CORS. */
  | "unreachable"
  /** The stream ended without its end. */
  | "cut"
  /** Silence or a cut line in the middle; a tab that slept or was left. */
  | "disconnected";

export interface Attempts {
  /** Requests made for this message so far, since the visitor last asked. */
  readonly made: number;
  /** Of these, those that ended in a time-out. */
  readonly timeouts: number;
  /** `data-retry`: automatic requests allowed beside the first. */
  readonly retries: number;
}

export const FIRST_BACK_OFF_MS = 1_000;
/** A visitor does not wait longer in front of a silent panel; the Retry button is kinder. */
export const LONGEST_WAIT_MS = 60_000;

/** Milliseconds until the next try, or undefined: tell the visitor. */
export function nextTry(
  code: Trouble,
  retryAfterMs: number | undefined,
  attempts: Attempts,
  chance: number,
): number | undefined {
  if (attempts.made > attempts.retries) return undefined;
  if (code === "gateway_timeout") return attempts.timeouts > 1 ? undefined : 0;
  if (code !== "rate_limit_exceeded") return undefined;
  const backOff = FIRST_BACK_OFF_MS * 2 ** (attempts.made - 1);
  const jitter = (chance * backOff) / 2;
  if (retryAfterMs === undefined) return backOff / 2 + jitter;
  // Never earlier than told, and never all visitors in the same moment.
  return retryAfterMs > LONGEST_WAIT_MS ? undefined : retryAfterMs + jitter;
}

/** `Retry-After` in milliseconds: seconds or an HTTP date; undefined when it is neither. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  const value = header?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1_000;
  // Date.parse would also take "-5" for a year.
  if (!/^[A-Za-z]{3}, /.test(value)) return undefined;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** The code of an HTTP status that is not 200. */
export function codeOfStatus(status: number): Code {
  if (status === 429) return "rate_limit_exceeded";
  if (status === 504 || status === 408) return "gateway_timeout";
  // Another try of ours is still running there: the visitor may ask again in a moment.
  if (status === 409) return "upstream_service_unavailable";
  return status >= 400 && status < 500 ? "invalid_request" : "upstream_service_unavailable";
}

/** The code of an error event; what is not known counts as "nobody can answer now". */
export function codeOf(code: unknown): Code {
  if (code === "context_length_exceeded") return "invalid_request";
  return CODES.find((known) => known === code) ?? "upstream_service_unavailable";
}
