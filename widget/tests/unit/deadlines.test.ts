import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Deadlines, SLEEP_MS } from "../../src/deadlines.ts";

let expired: string[];
let deadlines: Deadlines;

beforeEach(() => {
  vi.useFakeTimers();
  expired = [];
  deadlines = new Deadlines((limit, slept) => expired.push(slept ? `${limit} slept` : limit));
});

afterEach(() => {
  vi.useRealTimers();
});

test("a limit expires once, at its time and not before", () => {
  deadlines.start("first-byte", 5_000);
  vi.advanceTimersByTime(4_999);
  expect(expired).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(expired).toEqual(["first-byte"]);
  vi.advanceTimersByTime(60_000);
  expect(expired).toEqual(["first-byte"]);
});

test("a cancelled limit never expires", () => {
  deadlines.start("stall", 10_000);
  vi.advanceTimersByTime(9_999);
  deadlines.cancel("stall");
  vi.advanceTimersByTime(60_000);
  expect(expired).toEqual([]);
});

test("a limit started again counts from then on", () => {
  deadlines.start("stall", 10_000);
  vi.advanceTimersByTime(9_000);
  deadlines.start("stall", 10_000);
  vi.advanceTimersByTime(9_999);
  expect(expired).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(expired).toEqual(["stall"]);
});

test("limits run beside each other and are cancelled by name", () => {
  deadlines.start("first-byte", 5_000);
  deadlines.start("stall", 6_000);
  deadlines.cancel("first-byte");
  vi.advanceTimersByTime(6_000);
  expect(expired).toEqual(["stall"]);
});

test("a limit that fires long after its time says that the tab slept (W7)", () => {
  deadlines.start("first-byte", 5_000);
  vi.setSystemTime(Date.now() + 600_000);
  vi.advanceTimersByTime(5_000);
  expect(expired).toEqual(["first-byte slept"]);
});

test("a limit slept through is known before its timer fires (W7)", () => {
  deadlines.start("stall", 10_000);
  expect(deadlines.slept()).toBe(false);
  vi.setSystemTime(Date.now() + 10_000 + SLEEP_MS);
  expect(deadlines.slept()).toBe(false);
  vi.setSystemTime(Date.now() + 1);
  expect(deadlines.slept()).toBe(true);
  deadlines.cancel("stall");
  expect(deadlines.slept()).toBe(false);
});
