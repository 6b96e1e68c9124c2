/** The contrast of every text on its background in Chromium, for any accent, in both themes. */

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { pageWith } from "../site.ts";
import { contrast, type Rgb } from "../wcag.ts";
import { daily, interest, stage, testInChromium } from "./harness.ts";

const it = stage();

/** Steps of 0x33 in red, green and blue: 216 accents. */
const STEPS = ["00", "33", "66", "99", "cc", "ff"];
const ACCENTS = STEPS.flatMap((r) => STEPS.flatMap((g) => STEPS.map((b) => `#${r}${g}${b}`)));

const NAMES = "ink muted surface quiet warm tint accent on-accent accent-ink control".split(" ");

const TEXTS: readonly (readonly [ink: string, ground: string])[] = [
  ["ink", "surface"],
  ["ink", "quiet"],
  ["ink", "warm"],
  ["ink", "tint"],
  ["muted", "surface"],
  ["muted", "quiet"],
  ["on-accent", "accent"],
  ["accent-ink", "surface"],
  ["accent-ink", "quiet"],
  ["accent-ink", "warm"],
];

type Colours = Readonly<Record<string, Rgb>>;

/** The colours as drawn on the panel's ground, one set for each accent; "" is our own. */
function colours(page: Page, accents: readonly string[]): Promise<Colours[]> {
  return page.evaluate(
    ([wanted, names]) => {
      const host = document.querySelector<HTMLElement>("kefu-chat");
      const probe = document.createElement("i");
      host?.shadowRoot?.querySelector(".panel")?.append(probe);
      const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
      if (host === null || canvas === null) throw new Error("no widget");
      const fill = (name: string): void => {
        probe.style.color = `var(--${name})`;
        canvas.fillStyle = getComputedStyle(probe).color;
        canvas.fillRect(0, 0, 1, 1);
      };
      return wanted.map((accent) => {
        host.style.setProperty("--kefu-accent", accent);
        const drawn = names.map((name) => {
          fill("surface");
          fill(name);
          const [r = 0, g = 0, b = 0] = canvas.getImageData(0, 0, 1, 1).data;
          return [name, [r, g, b]];
        });
        return Object.fromEntries(drawn);
      });
    },
    [accents, NAMES] as const,
  );
}

for (const theme of ["light", "dark"]) {
  test(
    `${theme}: every text reads at 4.5:1 or better, for any accent (W10)`,
    daily(theme === "dark"),
    async () => {
      const { page } = await it.visit({ "data-theme": theme });
      const sets = await colours(page, ["", ...ACCENTS]);
      const [ours, ...others] = sets;
      expect(ours?.surface).toEqual(theme === "light" ? [255, 255, 255] : [23, 25, 29]);
      expect(new Set(others.map(({ accent }) => `${accent}`)).size).toBe(ACCENTS.length);
      const poor: string[] = [];
      for (const set of sets) {
        for (const [ink, ground] of TEXTS) {
          const ratio = contrast(set[ink] as Rgb, set[ground] as Rgb);
          if (!(ratio >= 4.5)) poor.push(`${ink} on ${ground}, ${set.accent}: ${ratio.toFixed(2)}`);
        }
        // The bubble of a question is visible: a part of a black accent would not be, in the dark.
        const bubble = contrast(set.tint as Rgb, set.surface as Rgb);
        if (!(bubble >= 1.15)) poor.push(`bubble, ${set.accent}: ${bubble.toFixed(2)}`);
      }
      expect(poor).toEqual([]);
      expect(contrast(ours?.control as Rgb, ours?.surface as Rgb)).toBeGreaterThanOrEqual(3);
    },
  );
}

test("an accent that reads on a theme's ground is left as it is there (W10)", async () => {
  const { page } = await it.visit({ "data-theme": "light" });
  const [ours, violet] = await colours(page, ["", "#5b21b6"]);
  expect(ours?.accent).toEqual([15, 110, 92]);
  for (const set of [ours, violet]) {
    const steps = set?.accent?.map((part, at) => Math.abs(part - (set["accent-ink"]?.[at] ?? 999)));
    expect(Math.max(...(steps ?? []))).toBeLessThanOrEqual(1);
  }
});

// Firefox has no command for the theme.
testInChromium(
  "the accent of the tag, and of the page's own styles for both themes (W1, W10)",
  async () => {
    const follows = (attributes: Readonly<Record<string, string>>): string =>
      pageWith({ "data-api-url": it.service.url, "data-open": "", ...attributes }).replace(
        "</head>",
        '<meta name="color-scheme" content="light dark"></head>',
      );
    const accents = { "data-accent": "#7c3aed" };
    for (const colorScheme of ["light", "dark"] as const) {
      const { page } = await it.visit({}, { colorScheme }, follows(accents));
      expect((await drawn(page)).accent).toEqual([124, 58, 237]);
      const styled = await it.visit({}, { colorScheme }, follows({}));
      await styled.page.evaluate(() => {
        const sheet = new CSSStyleSheet();
        sheet.replaceSync("kefu-chat{--kefu-accent:light-dark(#a00000,#ffb0b0)}");
        document.adoptedStyleSheets.push(sheet);
      });
      const set = await drawn(styled.page);
      expect(set.accent).toEqual(colorScheme === "light" ? [160, 0, 0] : [255, 176, 176]);
      for (const [ink, ground] of TEXTS) {
        expect(contrast(set[ink] as Rgb, set[ground] as Rgb)).toBeGreaterThanOrEqual(4.5);
      }
    }
  },
);

test("the launcher's icon stands out, before the chat is there and with it (W10)", async () => {
  for (const theme of ["light", "dark"]) {
    const html = pageWith({ "data-api-url": it.service.url, "data-theme": theme });
    const { page, launcher } = await it.glance(it.site.page("/", html));
    const shown = (): Promise<readonly Rgb[]> =>
      launcher.evaluate((node) => {
        const { color, backgroundColor } = getComputedStyle(node);
        const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
        if (canvas === null) throw new Error("no canvas");
        return [color, backgroundColor].map((colour) => {
          canvas.fillStyle = colour;
          canvas.fillRect(0, 0, 1, 1);
          const [r = 0, g = 0, b = 0] = canvas.getImageData(0, 0, 1, 1).data;
          return [r, g, b] as const;
        });
      });
    const before = await shown();
    await interest(page);
    expect(await shown()).toEqual(before);
    expect(contrast(before[0] as Rgb, before[1] as Rgb)).toBeGreaterThanOrEqual(4.5);
  }
});

/** The colours as they are, without setting an accent. */
async function drawn(page: Page): Promise<Colours> {
  const given = await page.locator("kefu-chat").evaluate((host) => {
    return (host as HTMLElement).style.getPropertyValue("--kefu-accent");
  });
  const [set = {}] = await colours(page, [given]);
  return set;
}
