/** Every state of the gallery: axe-core, and the geometry that a person would check in a picture. */

import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { pageWith } from "../site.ts";
import { violations } from "./axe.ts";
import { daily, stage, testInChromium } from "./harness.ts";

const it = stage();
const DESKTOP = { width: 1100, height: 760 };
const PHONE = { width: 390, height: 844 };

/** What must hold in every picture, whatever the fonts: the sentences name the elements that break it. */
function broken(): string[] {
  const host = document.querySelector("kefu-chat");
  const panel = host?.shadowRoot?.querySelector<HTMLElement>(".panel:not([hidden])");
  const all = [...(host?.shadowRoot?.querySelectorAll<HTMLElement>("*") ?? [])];
  const found: string[] = [];
  const nameOf = (node: Element): string => `${node.localName}.${node.className}`;
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) found.push("the page scrolls sideways");
  const log = panel?.querySelector(".log");
  if (log && log.scrollWidth > log.clientWidth) found.push("the conversation scrolls sideways");
  const outer = panel?.getBoundingClientRect();
  const inset = log && outer ? log.getBoundingClientRect() : undefined;
  for (const node of all) {
    const box = node.getBoundingClientRect();
    const isHidden = !node.checkVisibility() || node.closest(".spoken, .wide, pre, svg");
    if (isHidden || box.width === 0) continue;
    if (panel?.contains(node) && outer) {
      const isOut = box.left < outer.left - 1 || box.right > outer.right + 1;
      if (isOut) found.push(`${nameOf(node)} leaves the panel`);
    }
    // Cards and questions keep the distance of the text from the edges.
    if (inset && node.matches(".sources a, .question, .trouble, .contact, figure, .answer > *")) {
      const isOut = box.left < inset.left + 19 || box.right > inset.right - 19;
      if (isOut) found.push(`${nameOf(node)} touches the edge`);
    }
    if (
      node.matches("button") &&
      Math.min(box.width, box.height) < 24 &&
      !node.closest("p, figure")
    )
      found.push(`${nameOf(node)} is smaller than 24 px`);
  }
  const tools = all.filter(
    (node) => node.matches(".head button, .heading") && node.checkVisibility(),
  );
  for (const [i, one] of tools.entries()) {
    for (const other of tools.slice(i + 1)) {
      const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
      if (a.left < b.right && b.left < a.right && !other.closest(".card") && !one.closest(".card"))
        found.push(`${nameOf(one)} overlaps ${nameOf(other)}`);
    }
  }
  return found;
}

/** The page that shows a scene with the real widget. */
async function staged(
  wanted: Record<string, string>,
  options: BrowserContextOptions,
): Promise<Page> {
  const context = await it.browser.newContext({ reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  await page.goto(`${it.site.origin}/stage?${new URLSearchParams(wanted)}`);
  await page.locator('html[data-scene="ready"]').waitFor({ state: "attached" });
  return page;
}

const SCENES = [
  ["empty", "zh-CN", "dark", DESKTOP],
  ["suggestions", "en", "light", DESKTOP],
  ["suggestions", "ar", "dark", PHONE],
  ["logo", "en", "light", DESKTOP],
  ["logo", "ar", "dark", PHONE],
  ["tip", "ar", "light", PHONE],
  ["large", "ar", "dark", PHONE],
  ["consent", "zh-CN", "light", PHONE],
  ["menu", "en", "light", DESKTOP],
  ["menu", "ar", "dark", PHONE],
  ["wide", "ar", "light", PHONE],
  ["scrolled", "en", "light", DESKTOP],
  ["scrolled", "ar", "dark", PHONE],
  ["scrolled", "zh-CN", "light", PHONE],
  ["waiting", "en", "dark", DESKTOP],
  ["waiting", "ar", "light", PHONE],
  ["large", "en", "dark", DESKTOP],
  ["code", "en", "dark", PHONE],
  ["sources", "zh-CN", "light", PHONE],
  ["followUps", "ar", "dark", PHONE],
  ["editing", "zh-CN", "light", PHONE],
  ["failed", "en", "light", DESKTOP],
  ["unread", "ar", "dark", DESKTOP],
] as const;

for (const [scene, lang, theme, viewport] of SCENES) {
  const device = viewport === PHONE ? "phone" : "desktop";
  const times = SCENES.filter(([name]) => name === scene).length;
  test(
    `${scene}, ${lang}, ${theme}, ${device}: axe finds nothing, and everything is in its place (W10, W11)`,
    daily(times === 1 || lang === "ar"),
    async () => {
      const page = await staged({ scene, lang, theme }, { viewport });
      expect(await page.evaluate(broken)).toEqual([]);
      expect(await violations(page)).toEqual([]);
    },
  );
}

// Playwright cannot emulate forced colours in Firefox.
testInChromium(
  "in a forced-colours theme every frame, the dots and the number are drawn, and axe finds nothing (W11)",
  async () => {
    for (const [scene, ...selectors] of [
      ["menu", ".card"],
      ["tip", ".tip"],
      ["scrolled", ".jump", ".question", ".act"],
      ["consent", ".agree", ".panel"],
      ["awaiting", ".dots i"],
    ] as const) {
      const page = await staged({ scene, lang: "en" }, { forcedColors: "active" });
      const card = page.locator(`kefu-chat ${selectors[0]}`).first();
      const isBordered = [".card", ".tip", ".jump"].includes(selectors[0]);
      const width = await card.evaluate((node) => getComputedStyle(node).borderTopWidth);
      if (isBordered) expect(width).toBe("1px");
      for (const selector of selectors) {
        const node = page.locator(`kefu-chat ${selector}`).first();
        expect([selector, await isDrawn(node)]).toEqual([selector, true]);
      }
      expect(await violations(page)).toEqual([]);
    }
  },
);

testInChromium(
  "in a forced-colours theme the launcher has a frame before the chat is there, and its number one (W11)",
  async () => {
    const options = { forcedColors: "active", reducedMotion: "reduce" } as const;
    const tag = pageWith({ "data-api-url": it.service.url, "data-lang": "en" });
    const { page, launcher } = await it.glance(it.site.page("/", tag), options);
    expect(await page.locator("kefu-chat .panel").count()).toBe(0);
    expect(await isDrawn(launcher)).toBe(true);
    const unread = await staged({ scene: "unread", lang: "en" }, options);
    expect(await isDrawn(unread.locator("kefu-chat .launcher"), "::after")).toBe(true);
  },
);

/** Whether a frame of the element is drawn, or its surface has another colour than the page. */
function isDrawn(node: Locator, pseudo?: string): Promise<boolean> {
  return node.evaluate((element, part) => {
    const { outlineWidth, outlineStyle, borderTopWidth, borderTopStyle, backgroundColor } =
      getComputedStyle(element, part);
    const frames = [outlineWidth + outlineStyle, borderTopWidth + borderTopStyle];
    const canvas = document.body.appendChild(document.createElement("i"));
    canvas.style.background = "Canvas";
    const isFilled = getComputedStyle(canvas).backgroundColor !== backgroundColor;
    canvas.remove();
    return frames.includes("1pxsolid") || isFilled;
  }, pseudo);
}

test("every button that is only an icon has its name as a tooltip (D14)", async () => {
  const context = await it.browser.newContext({ viewport: DESKTOP });
  const page = await context.newPage();
  await page.goto(`${it.site.origin}/stage?scene=scrolled&lang=zh-CN`);
  await page.locator('html[data-scene="ready"]').waitFor({ state: "attached" });
  const buttons = await page
    .locator("kefu-chat .panel button:has(svg)")
    .evaluateAll((nodes) =>
      nodes.map((node) => [node.className, (node as HTMLElement).title, node.ariaLabel] as const),
    );
  expect(buttons.length).toBeGreaterThanOrEqual(9);
  for (const [name, title, label] of buttons) expect([name, title]).toEqual([name, label]);
});

for (const scene of ["consent", "answered", "failed", "waiting", "sources", "logo"]) {
  testInChromium(
    `in a forced-colours theme axe finds nothing: ${scene} (W11)`,
    daily(scene === "answered" || scene === "sources"),
    async () => {
      const page = await staged({ scene, lang: "en" }, { forcedColors: "active" });
      expect(await page.evaluate(broken)).toEqual([]);
      expect(await violations(page)).toEqual([]);
    },
  );
}

test("a wide Arabic table shows its first column, and fades where there is more (W9, W10)", async () => {
  const context = await it.browser.newContext({ viewport: PHONE });
  const page = await context.newPage();
  await page.goto(`${it.site.origin}/stage?scene=wide&lang=ar`);
  await page.locator('html[data-scene="ready"]').waitFor({ state: "attached" });
  const wide = page.locator("kefu-chat .wide");
  const look = () =>
    wide.evaluate((node) => {
      const [first] = node.querySelectorAll("th");
      const isSeen =
        (first?.getBoundingClientRect().right ?? 0) <= node.getBoundingClientRect().right + 1;
      const { style } = node;
      return [
        isSeen,
        style.getPropertyValue("--fade-left"),
        style.getPropertyValue("--fade-right"),
      ];
    });
  await expect.poll(look).toEqual([true, "28px", "0px"]);
  await wide.evaluate((node) => {
    node.scrollLeft = -node.scrollWidth;
  });
  await expect.poll(look).toEqual([false, "0px", "28px"]);
});

test("the menu by keyboard: arrows, Escape, and the focus comes back; enlarge changes the size (W11)", async () => {
  const context = await it.browser.newContext({ viewport: DESKTOP, reducedMotion: "reduce" });
  const page = await context.newPage();
  await page.goto(`${it.site.origin}/stage?scene=answered&lang=en`);
  await page.locator('html[data-scene="ready"]').waitFor({ state: "attached" });
  const more = page.getByRole("button", { name: "More" });
  const panel = page.locator("kefu-chat .panel");
  await more.focus();
  await page.keyboard.press("Enter");
  const item = page.getByRole("menuitem", { name: "New chat" });
  const hasFocus = (node: Element): boolean => node.matches(":focus");
  await expect.poll(() => item.evaluate(hasFocus)).toBe(true);
  for (const [key, name] of [
    ["ArrowDown", "Copy chat"],
    ["ArrowUp", "New chat"],
    ["ArrowUp", "Text size"],
    ["ArrowDown", "New chat"],
  ] as const) {
    await page.keyboard.press(key);
    expect(await page.getByRole("menuitem", { name }).evaluate(hasFocus)).toBe(true);
  }
  await page.keyboard.press("Escape");
  expect(await item.isVisible()).toBe(false);
  expect(await more.evaluate(hasFocus)).toBe(true);
  expect(await panel.isVisible()).toBe(true);
  const before = await panel.boundingBox();
  await page.getByRole("button", { name: "Enlarge" }).press("Enter");
  const after = await panel.boundingBox();
  expect(after?.width).toBeGreaterThan((before?.width ?? 0) + 200);
  await more.press("Enter");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.locator("kefu-chat .turn").count()).toBe(0);
  expect(await page.locator("kefu-chat textarea").evaluate(hasFocus)).toBe(true);
});
