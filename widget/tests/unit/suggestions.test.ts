/** The suggestions from `data-suggestions`, or from `suggestions` of the config. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readSuggestions } from "../../src/open/suggestions.ts";

const complaints: string[] = [];
beforeEach(() => {
  complaints.length = 0;
  vi.spyOn(console, "warn").mockImplementation((text: string) => void complaints.push(text));
});
afterEach(() => vi.restoreAllMocks());

const LONG = "长".repeat(81);

/** data-suggestions -> the suggestions, and whether there is a warning. */
const SUGGESTIONS: readonly (readonly [unknown, readonly string[], boolean])[] = [
  ["", [], false],
  ["  ", [], false],
  ["[]", [], false],
  ["One", ["One"], false],
  [" One? | Two ", ["One?", "Two"], false],
  ['["One", " Two | half "]', ["One", "Two | half"], false],
  [' ["<b>One</b>"]', ["<b>One</b>"], false],
  [["One", "Two"], ["One", "Two"], false],
  ["1|2|3|4|5|6", ["1", "2", "3", "4", "5", "6"], false],
  [LONG.slice(1), [LONG.slice(1)], false],
  ["1|2|3|4|5|6|7|8", ["1", "2", "3", "4", "5", "6"], true],
  [`One|${LONG}|Two`, ["One", "Two"], true],
  ["One||Two|", ["One", "Two"], true],
  ['["One", 2, null, ["Two"], {}, "Three"]', ["One", "Three"], true],
  ['["One", "Two"', [], true],
  ["[One|Two]", [], true],
  [{ one: "One" }, [], true],
  [7, [], true],
];

for (const [value, expected, isWrong] of SUGGESTIONS) {
  const shown = JSON.stringify(value).slice(0, 60);
  test(`suggestions: data-suggestions=${shown} -> ${expected.length}${isWrong ? ", one warning" : ""} (W1)`, () => {
    expect(readSuggestions(value)).toEqual(expected);
    expect(complaints).toHaveLength(isWrong ? 1 : 0);
  });
}
