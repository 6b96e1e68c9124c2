import { expect, test } from "vitest";
import { codeOfStatus, nextTry, retryAfterMs } from "../../src/open/retry.ts";
import type { Trouble } from "../../src/open/turn.ts";

const NO = undefined;

/** trouble, Retry-After in ms, requests made, of these timed out, data-retry, chance -> wait in ms */
const POLICY: readonly (readonly [
  Trouble,
  number | undefined,
  number,
  number,
  number,
  number,
  number | undefined,
])[] = [
  ["invalid_request", NO, 1, 0, 5, 0, NO],
  ["upstream_service_unavailable", NO, 1, 0, 5, 0, NO],
  // 503 with Retry-After: the service is busy and has room soon (aws M3).
  ["upstream_service_unavailable", 1_000, 1, 0, 3, 0, 1_000],
  ["upstream_service_unavailable", 1_000, 2, 0, 3, 1, 3_000],
  ["upstream_service_unavailable", 1_000, 3, 0, 3, 0, 4_000],
  ["upstream_service_unavailable", 9_000, 2, 0, 3, 0, 9_000],
  ["upstream_service_unavailable", 1_000, 4, 0, 3, 0, NO],
  ["upstream_service_unavailable", 1_000, 1, 0, 0, 0, NO],
  ["upstream_service_unavailable", 60_001, 1, 0, 5, 0, NO],
  ["unreachable", NO, 1, 0, 5, 0, NO],
  ["cut", NO, 1, 0, 5, 0, NO],
  ["disconnected", NO, 1, 0, 5, 0, NO],
  // 504: once, at once, and not with data-retry=0.
  ["gateway_timeout", NO, 1, 1, 3, 0, 0],
  ["gateway_timeout", NO, 2, 2, 3, 0, NO],
  ["gateway_timeout", NO, 1, 1, 0, 0, NO],
  ["gateway_timeout", NO, 3, 1, 3, 0, 0],
  ["gateway_timeout", NO, 4, 1, 3, 0, NO],
  // 429: doubling, half of it by chance, up to data-retry times.
  ["rate_limit_exceeded", NO, 1, 0, 3, 0, 500],
  ["rate_limit_exceeded", NO, 1, 0, 3, 1, 1_000],
  ["rate_limit_exceeded", NO, 2, 0, 3, 0, 1_000],
  ["rate_limit_exceeded", NO, 3, 0, 3, 1, 4_000],
  ["rate_limit_exceeded", NO, 4, 0, 3, 0, NO],
  ["rate_limit_exceeded", NO, 1, 0, 0, 0, NO],
  ["rate_limit_exceeded", NO, 5, 0, 5, 1, 16_000],
  ["rate_limit_exceeded", NO, 6, 0, 5, 1, NO],
  // Retry-After: never earlier, and not longer than anyone would wait.
  ["rate_limit_exceeded", 7_000, 1, 0, 3, 0, 7_000],
  ["rate_limit_exceeded", 7_000, 1, 0, 3, 1, 7_500],
  ["rate_limit_exceeded", 0, 1, 0, 3, 0, 0],
  ["rate_limit_exceeded", 60_000, 1, 0, 3, 0, 60_000],
  ["rate_limit_exceeded", 60_001, 1, 0, 3, 0, NO],
  ["rate_limit_exceeded", 7_000, 4, 0, 3, 0, NO],
];

for (const [trouble, after, made, timeouts, retries, chance, wait] of POLICY) {
  const facts = `${trouble}, told ${after ?? "nothing"}, try ${made} of ${1 + retries}, chance ${chance}`;
  test(`retry policy: ${facts} -> ${wait ?? "tell the visitor"} (W6)`, () => {
    expect(nextTry(trouble, after, { made, timeouts, retries }, chance)).toBe(wait);
  });
}

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);

const HEADERS: readonly (readonly [string | null, number | undefined])[] = [
  [null, undefined],
  ["", undefined],
  ["3", 3_000],
  [" 3 ", 3_000],
  ["0", 0],
  ["1.5", 1_500],
  ["-5", undefined],
  ["abc", undefined],
  ["1e9", undefined],
  ["Thu, 01 Jan 2026 12:00:09 GMT", 9_000],
  ["Thu, 01 Jan 2026 11:00:00 GMT", 0],
  ["Thu, nonsense", undefined],
];

for (const [header, wait] of HEADERS) {
  test(`Retry-After ${JSON.stringify(header)} -> ${wait ?? "not usable"}`, () => {
    expect(retryAfterMs(header, NOW)).toBe(wait);
  });
}

const STATUSES = {
  400: "invalid_request",
  401: "forbidden",
  403: "forbidden",
  404: "invalid_request",
  408: "gateway_timeout",
  409: "upstream_service_unavailable",
  413: "too_large",
  429: "rate_limit_exceeded",
  500: "upstream_service_unavailable",
  502: "upstream_service_unavailable",
  503: "upstream_service_unavailable",
  504: "gateway_timeout",
};

for (const [status, code] of Object.entries(STATUSES)) {
  test(`status ${status} -> ${code}`, () => {
    expect(codeOfStatus(Number(status))).toBe(code);
  });
}

test("the code in the body tells a spent budget and a failed bot check from other refusals (W6)", () => {
  expect(codeOfStatus(429, "budget_exhausted")).toBe("budget_exhausted");
  expect(codeOfStatus(403, "verification_required")).toBe("verification_required");
  expect(codeOfStatus(403, "constructor")).toBe("forbidden");
  expect(codeOfStatus(503, "budget_exhausted")).toBe("upstream_service_unavailable");
});
