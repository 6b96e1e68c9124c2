/** Names of attributes that the widget does not have (F14). */

import { expect, test } from "vitest";
import { NAMES } from "../../docs.mjs";
import { KNOWN, nearestOf } from "../../src/answer/attributes.ts";

test("the known names are those of the docs", () => {
  expect([...KNOWN].sort()).toEqual([...NAMES].sort());
});

for (const [name, nearest] of [
  ["titel", "title"],
  ["apiurl", "apiUrl"],
  ["suggestion", "suggestions"],
  ["privacyURL", "privacyUrl"],
  ["stalltimeout", "stallTimeout"],
  ["pos", undefined],
  ["kind", undefined],
  ["x", undefined],
] as const) {
  test(`${name}: ${nearest ?? "nothing is near"}`, () => {
    expect(nearestOf(name)).toBe(nearest);
  });
}
