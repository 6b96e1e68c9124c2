/** The colours of code: which parts of a program are what (W25). */

import { expect, test } from "vitest";
import { tokensOf } from "../../src/features/colours/tokens.ts";

function parts(code: string, language: string): readonly string[] {
  return tokensOf(code, language).map(
    ({ kind, start, end }) => `${kind} ${code.slice(start, end)}`,
  );
}

test.each([
  [
    "js",
    'const a = "x // y"; // it\'s\nreturn b1 + 0xff;',
    ["keyword const", 'string "x // y"', "comment // it's", "keyword return", "number 0xff"],
  ],
  [
    "python",
    "def f(x):  # x's\n    return f'{x} \\'#' // 2.5",
    ["keyword def", "comment # x's", "keyword return", "string '{x} \\'#'", "number 2.5"],
  ],
  ["", "/* a\n b */ don't do\nif x", ["comment /* a\n b */", "keyword if"]],
  ["bash", "echo $# a#b # c", ["comment # c"]],
  ["sql", "SELECT a -- b\nfrom t", ["keyword SELECT", "comment -- b", "keyword from"]],
  [
    "html",
    '<!-- a --><p class="b">for https://c</p>',
    ["comment <!-- a -->", "keyword p", 'string "b"', "keyword p"],
  ],
  ["json", '{"a": 1, "b": true} // c', ['string "a"', "number 1", 'string "b"', "keyword true"]],
  ["js", "`a\nb` /* never closed", ["string `a\nb`", "comment /* never closed"]],
])("%s: %s (W25)", (language, code, expected) => {
  expect(parts(code, language)).toEqual(expected);
});

test.each(['"', "'", "`", "/*", "<!--", "\\", '"\\', "a", "1", "#", "'\\\n", "` \" '"])(
  "20,000 characters of %j take linear time (T31)",
  (piece) => {
    const code = piece.repeat(20_000 / piece.length);
    const start = performance.now();
    for (const language of ["js", "py", "html", "sql"]) tokensOf(code, language);
    expect(performance.now() - start).toBeLessThan(1_000);
  },
);
