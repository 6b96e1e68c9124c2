/**
 * Pictures to look at, and those of the docs: `npm run shots` writes docs/images anew, and with
 * SHOTS=folder many more into that folder. pngquant makes them small, where it is installed; fonts
 * for Chinese and Arabic are needed (on Debian fonts-noto-cjk and fonts-noto-core).
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { BrowserContextOptions, Page } from "playwright-core";
import { test } from "vitest";
import { chunk, cited, DONE, finish, sources } from "../scripted-service.ts";
import { eventually, stage } from "./harness.ts";
import { DESKTOP, openPage, PHONE, shoot } from "./picture.ts";

const it = stage();
const SHOP = "https://nordlys.example/help";
const DOCS = fileURLToPath(new URL("../../../docs/images", import.meta.url));
const OUT = process.env.SHOTS;
const STATIC = new URL("../../../functions/kefu/web/static/", import.meta.url);

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

for (const colorScheme of ["light", "dark"] as const) {
  test(`docs: the demo page, ${colorScheme}`, async () => {
    it.service.script(
      {
        acts: [
          {
            send:
              sources([
                { number: 1, title: "Delivery times", url: `${SHOP}/delivery` },
                { number: 2, title: "Customs and taxes", url: `${SHOP}/customs` },
              ]) +
              chunk(
                "Yes. **Standard delivery** takes 3 to 5 working days [1]. Customs are paid at checkout, so nothing is due at the door [2].",
              ) +
              finish() +
              cited([1, 2]) +
              DONE,
          },
        ],
      },
      {
        acts: [
          {
            send: chunk(
              "Send it back within 30 days, unworn and with its label. The way back is free, and",
            ),
          },
          "silence",
        ],
      },
    );
    const html = readFileSync(new URL("demo.html", STATIC), "utf8");
    const health = { status: "ok", model: "LongCat-2.0", upstream: "", notice: "" };
    it.site.page("/health", JSON.stringify(health));
    it.site.page("/", html.replace("/api/chat", it.service.url));
    const page = await open("/", { colorScheme });
    // A name to read, not a port of this machine.
    await page.locator("#tag").evaluate((tag) => {
      tag.textContent = (tag.textContent ?? "").replaceAll(
        location.origin,
        "https://chat.example.com",
      );
    });
    const host = page.locator("kefu-chat");
    for (const question of ["Do you ship to Norway?", "And if it does not fit?"]) {
      await host.locator("textarea").fill(question);
      await host.locator("textarea").press("Enter");
      await host.locator(question.startsWith("And") ? ".icon-stop" : ".icon-send").waitFor();
    }
    await eventually(async () => (await host.locator(".log").innerText()).endsWith("and"), true);
    await shoot(page, DOCS, `chat-${colorScheme}`);
  });
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
