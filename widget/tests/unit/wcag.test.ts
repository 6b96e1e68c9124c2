import { expect, test } from "vitest";
import { contrast } from "../wcag.ts";

test("contrast is that of WCAG: 21 for black on white, 4.54 for #767676 on white", () => {
  expect(contrast([0, 0, 0], [255, 255, 255])).toBeCloseTo(21, 5);
  expect(contrast([118, 118, 118], [255, 255, 255])).toBeCloseTo(4.54, 2);
});
