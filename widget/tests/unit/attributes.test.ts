/** Names of attributes that the widget does not have (F14). */

import { expect, test } from "vitest";
import { NAMES } from "../../docs.mjs";
import { KNOWN, unknownOf } from "../../src/answer/attributes.ts";
import { nearestOf } from "../../src/features/hints/index.ts";

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

test("texts for a language are known, other settings for a language are not (W28)", () => {
  const texts = { greetingZh: "您好", suggestionsZhTw: "一", tipDe: "Fragen?", tipWhen: "8s" };
  expect(unknownOf({ ...texts, logoZh: "/logo.svg", titel: "A", cfAsync: "" })).toEqual([
    "logoZh",
    "titel",
  ]);
});
