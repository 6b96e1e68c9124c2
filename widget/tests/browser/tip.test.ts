/** The tip beside the launcher: `data-tip`. */

import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer } from "../scripted-service.ts";
import { pageWith } from "../site.ts";
import { violations } from "./axe.ts";
import { daily, eventually, stage, type Visit } from "./harness.ts";

const it = stage();

const tipOf = (page: Page) => page.locator("kefu-chat .tip");

async function invited(
  attributes: Readonly<Record<string, string>> = {},
  options: BrowserContextOptions = {},
  path = "/",
): Promise<Visit> {
  const all = {
    "data-api-url": it.service.url,
    "data-lang": "en",
    "data-tip": "Can we help?",
    "data-tip-when": "0s",
    ...attributes,
  };
  const tall = '<div id="tall"></div>';
  const html = pageWith(all, tall).replace("</title>", "</title><link rel=stylesheet href=/t.css>");
  it.site.page("/t.css", "#tall { height: 3000px }");
  return it.glance(it.site.page(path, html), options);
}

const storedBy = (page: Page): Promise<string> =>
  page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }) + document.cookie);

test("the tip is shown beside the launcher, stores nothing, and opens the chat (W8)", async () => {
  const { page, launcher, panel, errors } = await invited();
  await page.getByRole("button", { name: "Can we help?" }).waitFor();
  const [tip, button] = [await tipOf(page).boundingBox(), await launcher.boundingBox()];
  expect((tip?.x ?? 0) + (tip?.width ?? 0)).toBeLessThanOrEqual(button?.x ?? 0);
  expect(await storedBy(page)).toBe("{}");
  expect(await panel.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Can we help?" }).click();
  await panel.waitFor();
  expect(await tipOf(page).count()).toBe(0);
  await page.locator("kefu-chat .close").click();
  expect(await tipOf(page).count()).toBe(0);
  expect(errors).toEqual([]);
});

test("a dismissed tip does not come back in this visit; the focus goes to the launcher (W8, W11)", async () => {
  const { page, launcher } = await invited();
  await tipOf(page).waitFor();
  await page.getByRole("button", { name: "Dismiss" }).focus();
  await page.keyboard.press("Escape");
  expect(await tipOf(page).count()).toBe(0);
  expect(await launcher.evaluate((node) => node.matches(":focus"))).toBe(true);
  expect(await storedBy(page)).toBe('{"kefu-chat:tip":"1"}');
  // Without a referrer, only the stored word tells the next page.
  const url = page.url();
  await page.goto("about:blank");
  await page.goto(url);
  await page.locator("kefu-chat .panel").waitFor({ state: "attached" });
  await page.evaluate(() => new Promise((done) => setTimeout(done, 0)));
  expect(await tipOf(page).count()).toBe(0);
});

test("an ignored tip is not shown again by the next page of the visit, nor after a reload (W8)", async () => {
  const { page } = await invited();
  await tipOf(page).waitFor();
  for (const next of ["reload", "link"]) {
    if (next === "reload") await page.reload();
    else await page.evaluate(() => location.assign("/?next"));
    await page.waitForURL(next === "link" ? /next/ : /./);
    await page.locator("kefu-chat .panel").waitFor({ state: "attached" });
    expect([next, await tipOf(page).count()]).toEqual([next, 0]);
  }
  expect(await storedBy(page)).toBe("{}");
});

test("data-tip-when: the part of the page that is scrolled, and the paths (W8)", async () => {
  const elsewhere = await invited({ "data-tip-when": "0s /pricing*" }, {}, "/about");
  await elsewhere.page.locator("kefu-chat .panel").waitFor({ state: "attached" });
  expect(await tipOf(elsewhere.page).count()).toBe(0);
  // Another page of the visit, but the first one with the tip.
  const html = pageWith({
    "data-api-url": it.service.url,
    "data-lang": "en",
    "data-tip": "Can we help?",
    "data-tip-when": "0s /pricing*",
  });
  it.site.page("/pricing-eu", html);
  await elsewhere.page.evaluate(() => location.assign("/pricing-eu"));
  await tipOf(elsewhere.page).waitFor();
  const scrolling = await invited({ "data-tip-when": "50%" });
  await scrolling.page.locator("kefu-chat .panel").waitFor({ state: "attached" });
  await scrolling.page.evaluate(() => scrollTo(0, 300));
  expect(await tipOf(scrolling.page).count()).toBe(0);
  await scrolling.page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  await tipOf(scrolling.page).waitFor();
});

test("a visitor who already uses the chat gets no tip; without data-tip no file is fetched (W2, W8)", async () => {
  it.service.script(answer(["Yes."]));
  const plain = await it.visit();
  await plain.page.reload();
  await plain.panel.waitFor();
  await plain.send("Do you ship?");
  await plain.page.locator("kefu-chat .actions").waitFor();
  expect(plain.requests.filter((url) => url.includes("chat-widget-tip"))).toEqual([]);
  const opened = await invited({ "data-open": "" });
  await opened.panel.waitFor();
  expect(await tipOf(opened.page).count()).toBe(0);
});

for (const [theme, lang, options] of [
  ["light", "en", {}],
  ["dark", "ar", { viewport: { width: 390, height: 844 } }],
  ["light", "zh-CN", { forcedColors: "active" }],
] as const) {
  test(
    `axe finds nothing with the tip; ${theme}, ${lang}, ${Object.keys(options)} (W11)`,
    daily(lang === "ar"),
    async () => {
      const attributes = { "data-theme": theme, "data-lang": lang };
      const { page } = await invited(attributes, { reducedMotion: "reduce", ...options });
      await tipOf(page).waitFor();
      expect(await violations(page)).toEqual([]);
      const { scroll, client } = await page.evaluate(() => ({
        scroll: document.documentElement.scrollWidth,
        client: document.documentElement.clientWidth,
      }));
      expect(scroll).toBe(client);
      const box = await tipOf(page).boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
    },
  );
}

test("the launcher counts the answers that the visitor has not seen, also on the next page (W8)", async () => {
  it.service.script(answer(["One."]), answer(["Two."]));
  const visit = await it.visit();
  const { page, launcher } = visit;
  // Chromium resolves `attr(data-unread)`, Firefox does not.
  const hasCount = () =>
    launcher.evaluate((node) => getComputedStyle(node, "::after").content !== "none");
  for (const question of ["first", "second"]) {
    await page.evaluate((text) => {
      window.ChatWidget?.send(text);
      window.ChatWidget?.close();
    }, question);
    await eventually(() => launcher.getAttribute("data-unread"), "1");
    // The style of the number comes with the file for answers.
    await eventually(hasCount, true);
    if (question === "first") await launcher.click();
  }
  expect(await launcher.getAttribute("aria-label")).toContain("(1)");
  await page.goto(it.site.page("/next", pageWith({ "data-api-url": it.service.url })));
  await eventually(() => launcher.getAttribute("data-unread"), "1");
  await launcher.click();
  await eventually(() => launcher.getAttribute("class"), "launcher");
});
