/** The words for the time between two turns (W24). */

import { expect, test } from "vitest";
import { textOf } from "../../src/features/times/index.ts";

const at = (day: number, hour: number, minute: number): Date =>
  new Date(2026, 2, day, hour, minute);

test("today and yesterday have words in each language, earlier days a date (W24)", () => {
  const now = at(10, 23, 30);
  expect(textOf(at(10, 14, 5), "de", now)).toBe("heute 14:05");
  expect(textOf(at(9, 14, 5), "de", now)).toBe("gestern 14:05");
  expect(textOf(at(10, 14, 5), "zh-CN", now)).toBe("今天 14:05");
  expect(textOf(at(2, 14, 5), "de", now)).toBe("02.03.2026, 14:05");
  expect(textOf(at(9, 23, 59), "fr", at(10, 0, 1))).toBe("hier 23:59");
});
