/** The theme follows the page, and the accent stands out on it. */

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer } from "../scripted-service.ts";
import { pageWith } from "../site.ts";
import { contrast, type Rgb } from "../wcag.ts";
import { violations } from "./axe.ts";
import { daily, stage, testInChromium, type Visit } from "./harness.ts";

const it = stage();

async function on(
  head: string,
  attributes: Readonly<Record<string, string>> = {},
  options = {},
): Promise<Visit> {
  const all = { "data-api-url": it.service.url, "data-lang": "en", "data-open": "", ...attributes };
  const html = pageWith(all).replace(
    "</head>",
    `${head}<link rel="stylesheet" href="/p.css"></head>`,
  );
  return it.visit(
    {},
    { viewport: { width: 900, height: 700 }, reducedMotion: "reduce", ...options },
    html,
  );
}

/** The colours of these points of the page as drawn, in CSS pixels. */
async function pixels(page: Page, points: readonly (readonly [number, number])[]): Promise<Rgb[]> {
  const picture = (await page.screenshot()).toString("base64");
  return page.evaluate(
    async ([encoded, wanted]) => {
      const bytes = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
      const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
      canvas?.drawImage(image, 0, 0);
      return wanted.map(([x, y]) => {
        const data = canvas?.getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data;
        return [data?.[0] ?? 0, data?.[1] ?? 0, data?.[2] ?? 0] as const;
      });
    },
    [picture, points] as const,
  );
}

const isDark = ({ panel, page }: Visit): Promise<boolean> =>
  panel
    .boundingBox()
    .then((box) => pixels(page, [[(box?.x ?? 0) + 5, (box?.y ?? 0) + 300]]))
    .then(([ground]) => contrast(ground as Rgb, [255, 255, 255]) > 10);

for (const [name, head, css, dark] of [
  ["none", "", "", [false, false]],
  ["dark", "", ":root{color-scheme:dark}", [true, true]],
  ["light", "", ":root{color-scheme:light}", [false, false]],
  ["light dark", "", ":root{color-scheme:light dark}", [false, true]],
  ["a meta element", '<meta name="color-scheme" content="light dark">', "", [false, true]],
] as const) {
  // Firefox has no command for the theme of the system.
  testInChromium(
    `data-theme=auto follows the page's color-scheme, here ${name}, not the system's alone (D7)`,
    daily(name === "a meta element"),
    async () => {
      for (const [at, colorScheme] of (["light", "dark"] as const).entries()) {
        // axe-core does not know that the ground of a dark page without a background is dark.
        it.site.page("/p.css", `${css} body{background:Canvas;color:CanvasText} a{color:inherit}`);
        const visit = await on(head, {}, { colorScheme });
        expect([colorScheme, await isDark(visit)]).toEqual([colorScheme, dark[at]]);
        expect(await violations(visit.page)).toEqual([]);
        const chosen = await on(head, { "data-theme": "dark" }, { colorScheme });
        expect(await isDark(chosen)).toBe(true);
      }
    },
  );
}

test("a page that changes its color-scheme changes an open chat (D7)", async () => {
  it.site.page("/p.css", ":root{color-scheme:light} :root.dark{color-scheme:dark}");
  const visit = await on("");
  expect(await isDark(visit)).toBe(false);
  await visit.page.evaluate(() => document.documentElement.classList.add("dark"));
  expect(await isDark(visit)).toBe(true);
});

for (const [scheme, ground, accents] of [
  ["dark", "#0c0c0e", ["#000000", "#0b0f1a", "#1a1a2e", "#0f6e5c", "#5b21b6", "#ffffff"]],
  ["light", "#ffffff", ["#ffffff", "#fefce8", "#ffe08a", "#0f6e5c", "#000000"]],
] as const) {
  test(
    `on a ${scheme} page the launcher, the mark and the bubble stand out with any accent (W10)`,
    daily(scheme === "dark"),
    async () => {
      it.site.page(
        "/p.css",
        `:root{color-scheme:${scheme}} body{background:${ground};height:100vh}`,
      );
      for (const accent of accents) {
        it.service.script(answer(["Yes."]));
        const visit = await on("", { "data-accent": accent });
        const { page, launcher, panel, send, idle } = visit;
        await send("Do you ship?");
        await idle();
        await page.mouse.move(5, 5);
        const parts = [
          ["launcher", launcher, 3],
          ["mark", panel.locator(".head .mark"), 2.5],
          ["question", panel.locator(".question"), 1.15],
        ] as const;
        // Of each part: points on its edge, in its inside and on the ground beside it.
        const points: (readonly [number, number])[] = [];
        for (const [, node] of parts) {
          const box = await node.boundingBox();
          if (!box) throw new Error("not on the page");
          const [x, y] = [Math.round(box.x), Math.round(box.y + box.height / 2)];
          points.push([x - 1, y], [x + 3, y], [x - 9, y]);
        }
        const drawn = await pixels(page, points);
        const poor: string[] = [];
        for (const [at, [name, , least]] of parts.entries()) {
          const [edge, inside, beside] = drawn.slice(at * 3) as Rgb[];
          const steps = [edge, inside].map((one) => contrast(one as Rgb, beside as Rgb));
          const found = Math.max(...steps);
          if (!(found >= least)) poor.push(`${name}, ${accent}: ${found.toFixed(2)}`);
        }
        expect(poor).toEqual([]);
        await page.context().close();
      }
    },
  );
}
