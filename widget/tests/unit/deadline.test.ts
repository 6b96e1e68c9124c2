import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Deadline, SLEEP_MS } from "../../src/open/deadline.ts";

let expired: string[];
let deadline: Deadline;

beforeEach(() => {
  vi.useFakeTimers();
  expired = [];
  deadline = new Deadline((limit, slept) => expired.push(slept ? `${limit} slept` : limit));
});

afterEach(() => {
  vi.useRealTimers();
});

test("a limit expires once, at its time and not before", () => {
  deadline.start("first-byte", 5_000);
  vi.advanceTimersByTime(4_999);
  expect(expired).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(expired).toEqual(["first-byte"]);
  vi.advanceTimersByTime(60_000);
  expect(expired).toEqual(["first-byte"]);
});

test("a cancelled limit never expires", () => {
  deadline.start("stall", 10_000);
  vi.advanceTimersByTime(9_999);
  deadline.cancel();
  vi.advanceTimersByTime(60_000);
  expect(expired).toEqual([]);
});

test("a limit started again counts from then on", () => {
  deadline.start("stall", 10_000);
  vi.advanceTimersByTime(9_000);
  deadline.start("stall", 10_000);
  vi.advanceTimersByTime(9_999);
  expect(expired).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(expired).toEqual(["stall"]);
});

test("a limit started in place of another is the only one", () => {
  deadline.start("first-byte", 5_000);
  deadline.start("stall", 6_000);
  vi.advanceTimersByTime(60_000);
  expect(expired).toEqual(["stall"]);
});

test("a limit that has expired is over: nothing was slept through (W7)", () => {
  deadline.start("stall", 1_000);
  vi.advanceTimersByTime(60_000);
  expect(deadline.slept()).toBe(false);
});

test("a limit that fires long after its time says that the tab slept (W7)", () => {
  deadline.start("first-byte", 5_000);
  vi.setSystemTime(Date.now() + 600_000);
  vi.advanceTimersByTime(5_000);
  expect(expired).toEqual(["first-byte slept"]);
});

test("a limit slept through is known before its timer fires (W7)", () => {
  deadline.start("stall", 10_000);
  expect(deadline.slept()).toBe(false);
  vi.setSystemTime(Date.now() + 10_000 + SLEEP_MS);
  expect(deadline.slept()).toBe(false);
  vi.setSystemTime(Date.now() + 1);
  expect(deadline.slept()).toBe(true);
  deadline.cancel();
  expect(deadline.slept()).toBe(false);
});
