import { expect, test } from "vitest";
import { contrast, inkOn, isHexColour, readableOn } from "../../src/colour.ts";

const ACCENTS = [
  "#000",
  "#fff",
  "#0f6e5c",
  "#5cc6ae",
  "#ffd400",
  "#7c3aed",
  "#767676",
  "#f00",
  "#888",
];

for (const accent of ACCENTS) {
  test(`text on ${accent} reads at 4.5:1 or better`, () => {
    expect(contrast(inkOn(accent), accent)).toBeGreaterThanOrEqual(4.5);
  });

  for (const surface of ["#ffffff", "#17191d"]) {
    test(`${accent} used as text on ${surface} reads at 4.5:1 or better`, () => {
      expect(contrast(readableOn(surface, accent, 4.5), surface)).toBeGreaterThanOrEqual(4.5);
    });
  }
}

test("text on every grey reads at 4.5:1 or better", () => {
  for (let grey = 0; grey < 256; grey++) {
    const colour = `#${grey.toString(16).padStart(2, "0").repeat(3)}`;
    expect(contrast(inkOn(colour), colour)).toBeGreaterThanOrEqual(4.5);
  }
});

test("a readable accent is left as it is", () => {
  expect(readableOn("#ffffff", "#0f6e5c", 4.5)).toBe("#0f6e5c");
});

test("contrast is that of WCAG: 21 for black on white, 4.54 for #767676 on white", () => {
  expect(contrast("#000", "#ffffff")).toBeCloseTo(21, 5);
  expect(contrast("#767676", "#fff")).toBeCloseTo(4.54, 2);
});

test("only #rgb and #rrggbb are colours here", () => {
  expect(["#abc", "#A1B2C3"].every(isHexColour)).toBe(true);
  expect(["abc", "#abcd", "red", "#ggg", "#abc;"].some(isHexColour)).toBe(false);
});
