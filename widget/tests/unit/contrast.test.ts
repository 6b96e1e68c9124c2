/** Every text on every ground it stands on, for any accent of a site owner, in both themes. */

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { contrast } from "../../src/colour.ts";
import { coloursOf, type Theme } from "../../src/view/theme.ts";

const CSS = readFileSync(new URL("../../src/view/widget.css", import.meta.url), "utf8");

/** The colours of widget.css as a visitor of that theme gets them, with that accent. */
function colours(theme: Theme, accent?: string): Map<string, string> {
  const rule = theme === "light" ? ":host {" : ':host([data-theme="dark"]) {';
  const block = CSS.slice(CSS.indexOf(rule)).split("}", 1)[0] ?? "";
  const found = new Map<string, string>(Object.entries(coloursOf(theme, accent)));
  for (const [, name, colour] of block.matchAll(/(--\w[\w-]*):[^;]*?(#[0-9a-f]{6})/g)) {
    if (name !== undefined && colour !== undefined) found.set(name, colour);
  }
  const share = Number(/--tint: color-mix\(in srgb, var\(--accent\) (\d+)%/.exec(block)?.[1]);
  found.set("--tint", mixed(found.get("--accent"), found.get("--surface"), share / 100));
  return found;
}

function mixed(over = "", ground = "", share: number): string {
  const parts = (hex: string): number[] =>
    [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  const below = parts(ground);
  const mix = parts(over).map((part, i) =>
    Math.round(part * share + (below[i] ?? Number.NaN) * (1 - share)),
  );
  return `#${mix.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Steps of 0x33 in red, green and blue: 216 accents. */
const STEPS = ["00", "33", "66", "99", "cc", "ff"];
const ACCENTS = STEPS.flatMap((r) => STEPS.flatMap((g) => STEPS.map((b) => `#${r}${g}${b}`)));

const TEXTS: readonly (readonly [ink: string, ground: string])[] = [
  ["--ink", "--surface"],
  ["--ink", "--quiet"],
  ["--ink", "--warm"],
  ["--ink", "--tint"],
  ["--muted", "--surface"],
  ["--muted", "--quiet"],
  ["--on-accent", "--accent"],
  ["--accent-ink", "--surface"],
  ["--accent-ink", "--quiet"],
  ["--accent-ink", "--warm"],
];

describe.each(["light", "dark"] as const)("%s", (theme) => {
  test.each(TEXTS)("%s on %s reads at 4.5:1 or better, for any accent (W10)", (ink, ground) => {
    for (const accent of [undefined, ...ACCENTS]) {
      const all = colours(theme, accent);
      const ratio = contrast(all.get(ink) ?? "", all.get(ground) ?? "");
      expect(ratio, `${accent}: ${all.get(ink)} on ${all.get(ground)}`).toBeGreaterThanOrEqual(4.5);
    }
  });

  test("the edge of the input stands out at 3:1 or better (W10)", () => {
    const all = colours(theme);
    expect(contrast(all.get("--control") ?? "", all.get("--surface") ?? "")).toBeGreaterThanOrEqual(
      3,
    );
  });
});
