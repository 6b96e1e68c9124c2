/** Formulas of LaTeX as elements of MathML (W25). */

import { expect, test } from "vitest";
import { formulaOf, type MathNode } from "../../src/features/formulas/latex.ts";

/** The elements in short: `mfrac(a b)`, a text as it is. */
function short({ tag, kids }: MathNode): string {
  return typeof kids === "string" ? kids : `${tag}(${kids.map(short).join(" ")})`;
}

function read(source: string): string | undefined {
  const formula = formulaOf(source);
  return formula && short(formula).replace(/^mrow\((.*)\)$/s, "$1");
}

test.each([
  ["E = mc^2", "E = m msup(c 2)"],
  ["\\frac{a+1}{2b}", "mfrac(mrow(a + 1) mrow(2 b))"],
  ["\\frac12", "mfrac(1 2)"],
  ["x_1^2 - y'", "msubsup(x 1 2) − mrow(y ′)"],
  ["x^{2n}", "msup(x mrow(2 n))"],
  ["\\sqrt{2} \\sqrt[3]{x+1}", "msqrt(2) mroot(mrow(x + 1) 3)"],
  ["\\sum_{i=1}^n i", "munderover(∑ mrow(i = 1) n) i"],
  ["\\int_0^1 f(x)\\,dx", "msubsup(∫ 0 1) f ( x ) mspace() d x"],
  ["\\lim_{x\\to 0} \\sin x", "munder(lim mrow(x → 0)) sin x"],
  ["\\alpha \\leq \\beta \\cdot \\infty", "α ≤ β ⋅ ∞"],
  ["\\left( \\frac{1}{2} \\right.", "mrow(( mfrac(1 2))"],
  ["\\text{price in } \\%", "price in\u00a0 %"],
  ["\\vec{v} \\in \\mathbb{R}^3", "mover(v →) ∈ msup(ℝ 3)"],
  ["\\binom{n}{k}", "mrow(( mfrac(n k) ))"],
  [
    "\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}",
    "mrow(( mtable(mtr(mtd(a) mtd(b)) mtr(mtd(c) mtd(d))) ))",
  ],
  ["\\{ 1, 2 \\}", "{ 1 , 2 }"],
])("%s is read (W25)", (source, expected) => {
  expect(read(source)).toBe(expected);
});

test.each([
  "",
  " ",
  "{",
  "}",
  "a}",
  "{a",
  "\\unknown",
  "\\frac{a}",
  "x^",
  "x^2^3",
  "\\left( a",
  "\\right)",
  "\\sqrt[2 x",
  "\\begin{what} a \\end{what}",
  "\\begin{matrix} a",
  "\\begin{matrix} a \\end{cases}",
  "\\begin{toString} a \\end{toString}",
  "\\mathbb{X}",
  "\\text{a \\b}",
  "a & b",
  "$",
  "\\",
  "{".repeat(500),
  "x".repeat(3_000),
])("%j stays as it is written (W25)", (source) => {
  expect(formulaOf(source)).toBeUndefined();
});

test.each([
  ["n \\log n", "0.17em"],
  ["O \\log(n)", "0"],
])("%s has space beside the name of the function (W25)", (source, rspace) => {
  const kids = formulaOf(source)?.kids as readonly MathNode[];
  expect(kids[1]?.attributes).toEqual({ lspace: "0.17em", rspace });
});

const PIECES =
  "{ } ^ _ & ' [ ] ( ) | $ \\ a 1 . \\\\ \\frac \\sqrt \\left \\right \\begin{matrix} \\end{matrix} \\text \\sum \\hat";

test("any mixture of pieces is read or left, and brackets and names are those of the table (W25)", () => {
  const pieces = PIECES.split(" ");
  const tags = new Set<string>();
  let count = 0;
  const visit = ({ tag, kids }: MathNode): void => {
    tags.add(tag);
    if (typeof kids !== "string") kids.forEach(visit);
  };
  let seed = 7;
  for (let round = 0; round < 20_000; round += 1) {
    let source = "";
    for (let length = 0; length < 1 + (round % 9); length += 1) {
      seed = (seed * 48_271) % 0x7fffffff;
      source += `${pieces[seed % pieces.length]} `;
    }
    const formula = formulaOf(source);
    if (!formula) continue;
    count += 1;
    visit(formula);
  }
  expect(count).toBeGreaterThan(100);
  for (const tag of tags) expect(tag).toMatch(/^m[a-z]+$/);
});
