/**
 * Pictures to look at, and those of the docs: `npm run shots` writes docs/images anew, and with
 * SHOTS=folder many more into that folder. pngquant makes them small, where it is installed; fonts
 * for Chinese and Arabic are needed (on Debian fonts-noto-cjk and fonts-noto-core).
 */

import { fileURLToPath } from "node:url";
import type { BrowserContextOptions, Page } from "playwright-core";
import { test } from "vitest";
import { stage } from "./harness.ts";
import { DESKTOP, openPage, PHONE, shoot } from "./picture.ts";

const it = stage();
const DOCS = fileURLToPath(new URL("../../../docs/images", import.meta.url));
const OUT = process.env.SHOTS;

const open = (path: string, options: BrowserContextOptions): Promise<Page> =>
  openPage(it, path, options);

/** A state of the gallery, alone. */
async function scene(name: string, lang: string, theme: string, isPhone = false): Promise<Page> {
  const viewport = isPhone ? PHONE : { width: 560, height: 760 };
  const wanted = new URLSearchParams({ scene: name, lang, theme });
  const page = await open(`/stage?${wanted}`, { viewport });
  await page.locator('html[data-scene="ready"]').waitFor({ state: "attached" });
  return page;
}

for (const [name, state, lang, theme] of [
  ["phone-zh", "answered", "zh-CN", "light"],
  ["phone-en-dark", "table", "en", "dark"],
  ["phone-ar", "answered", "ar", "light"],
] as const) {
  test(`docs: ${name}`, async () => {
    await shoot(await scene(state, lang, theme, true), DOCS, name);
  });
}

test("docs: the playground", async () => {
  const settings = new URLSearchParams({
    title: "Nordlys Outdoor",
    greeting: "Hi! Looking for something warm?",
    suggestions: "Where is my parcel?|Which size fits me?",
    accent: "#7c3aed",
  });
  const page = await open(`/playground#${settings}`, { viewport: { width: 1280, height: 1080 } });
  await page.frameLocator("#frame").locator("kefu-chat .panel").waitFor();
  await page.locator("#tag").evaluate((tag) => {
    tag.textContent = (tag.textContent ?? "").replaceAll(
      location.origin,
      "https://chat.example.com",
    );
  });
  await shoot(page, DOCS, "playground");
});

const ALL = [
  "closed",
  "empty",
  "suggestions",
  "logo",
  "consent",
  "awaiting",
  "streaming",
  "answered",
  "unread",
  "tip",
  "menu",
  "large",
  "scrolled",
  "sources",
  "followUps",
  "editing",
  "wide",
  "table",
  "code",
  "stopped",
  "waiting",
  "failed",
  "disconnected",
  "offline",
];

test.runIf(OUT !== undefined)(
  "every state, for a close look",
  async () => {
    for (const [lang, theme, isPhone] of [
      ["zh-CN", "light", false],
      ["en", "dark", false],
      ["ar", "light", false],
      ["ar", "dark", false],
      ["ar", "light", true],
      ["ar", "dark", true],
      ["he", "light", false],
      ["zh-CN", "dark", true],
    ] as const) {
      for (const name of ALL) {
        const page = await scene(name, lang, theme, isPhone);
        await shoot(page, OUT ?? "", `${lang}-${theme}-${isPhone ? "phone" : "desktop"}-${name}`);
        await page.context().close();
      }
    }
    for (const [size, viewport] of Object.entries({ DESKTOP, PHONE })) {
      for (const colorScheme of ["light", "dark"] as const) {
        for (const path of ["playground", "gallery"]) {
          const locale = size === "DESKTOP" ? "en-US" : "zh-CN";
          const page = await open(`/${path}`, { viewport, colorScheme, locale });
          await page.waitForTimeout(1_500);
          await shoot(page, OUT ?? "", `${path}-${colorScheme}-${size}`, path === "playground");
          await page.context().close();
        }
      }
    }
  },
  300_000,
);
