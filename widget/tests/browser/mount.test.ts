/** A chat inside the page: `data-mount`. */

import type { BrowserContextOptions } from "playwright-core";
import { expect, test } from "vitest";
import { answer } from "../scripted-service.ts";
import { pageWith } from "../site.ts";
import { violations } from "./axe.ts";
import { daily, eventually, stage, type Visit } from "./harness.ts";

const it = stage();

const BOX = '<div id="help-chat" style="height: 480px"></div>';
const LOOKS = { width: 1100, height: 900 };

/** Without the policy against inline styles, which give the box of each test its size. */
async function mounted(
  attributes: Readonly<Record<string, string>> = {},
  options: BrowserContextOptions = {},
  box = BOX,
  html = "",
): Promise<Visit> {
  const all = {
    "data-api-url": it.service.url,
    "data-lang": "en",
    "data-mount": "#help-chat",
    ...attributes,
  };
  const page = pageWith(all, `<a href="#help" id="after">After</a>`).replace(
    "</main>",
    `${box}</main>`,
  );
  const url = it.site.page("/mounted", html + page, "", "script-src 'self'");
  const visit = await it.glance(url, { viewport: LOOKS, ...options });
  await visit.panel.waitFor();
  return visit;
}

const boxOf = (visit: Visit, selector: string) => visit.page.locator(selector).boundingBox();

test("data-mount shows the open chat in the box, at its size, without a launcher or the focus (W12)", async () => {
  it.service.script(answer(["Yes."]));
  const visit = await mounted();
  const { page, panel, launcher, answers, send, errors } = visit;
  expect(await panel.boundingBox()).toEqual(await boxOf(visit, "#help-chat"));
  expect(await launcher.count()).toBe(0);
  expect(await panel.locator(".close").isVisible()).toBe(false);
  expect(await panel.getAttribute("role")).toBe("region");
  expect(await panel.getAttribute("aria-modal")).toBe(null);
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("BODY");
  await send("Do you ship?");
  await eventually(() => answers.allInnerTexts(), ["Yes."]);
  expect(await panel.boundingBox()).toEqual(await boxOf(visit, "#help-chat"));
  expect(errors).toEqual([]);
});

test("a box without a height gets --kefu-height, and the next elements follow below it (W12)", async () => {
  const lines = Array.from({ length: 80 }, (_, i) => `Line ${i}\n\n`).join("");
  it.service.script(answer([lines]));
  const visit = await mounted({}, {}, '<div id="help-chat" style="--kefu-height: 500px"></div>');
  expect(await visit.panel.boundingBox()).toMatchObject({ height: 500 });
  await visit.send("hello");
  await visit.answers.getByText("Line 79").waitFor();
  expect(await visit.panel.boundingBox()).toMatchObject({ height: 500 });
  const [box, after] = await Promise.all([boxOf(visit, "#help-chat"), boxOf(visit, "#after")]);
  expect(after?.y).toBeGreaterThanOrEqual((box?.y ?? 0) + 500);
});

test("on a phone the chat stays in its box, and moves with the page (W12)", async () => {
  for (const viewport of [
    { width: 390, height: 844 },
    { width: 844, height: 390 },
  ]) {
    const visit = await mounted({}, { viewport, hasTouch: true });
    expect(await visit.panel.boundingBox()).toEqual(await boxOf(visit, "#help-chat"));
    await visit.page.evaluate(() => {
      document.body.style.paddingBottom = "2000px";
      scrollTo(0, 200);
    });
    expect(await visit.panel.boundingBox()).toEqual(await boxOf(visit, "#help-chat"));
    const { scroll, client } = await visit.page.evaluate(() => ({
      scroll: document.documentElement.scrollWidth,
      client: document.documentElement.clientWidth,
    }));
    expect(scroll).toBe(client);
  }
});

test("Tab passes through the chat in the page, Escape leaves it open, close() hides it (W11, W12)", async () => {
  for (const viewport of [LOOKS, { width: 390, height: 844 }]) {
    const { page, panel, input } = await mounted({}, { viewport });
    await page.locator("#before").focus();
    const seen: string[] = [];
    for (let i = 0; i < 9 && seen.at(-1) !== "after"; i++) {
      await page.keyboard.press("Tab");
      seen.push(
        await page.evaluate(
          () => document.activeElement?.id || `${document.activeElement?.tagName}`,
        ),
      );
    }
    expect(seen).toContain("KEFU-CHAT");
    expect(seen.at(-1)).toBe("after");
    await input.focus();
    await page.keyboard.press("Escape");
    expect(await panel.isVisible()).toBe(true);
    await page.evaluate(() => window.ChatWidget?.close());
    expect(await panel.isVisible()).toBe(false);
    await page.locator("#before").focus();
    await page.evaluate(() => window.ChatWidget?.open());
    expect(await input.evaluate((node) => node.matches(":focus"))).toBe(true);
  }
});

test("in Arabic the chat in the page is mirrored, and fills its box (W13)", async () => {
  it.service.script(answer(["Yes."]));
  const visit = await mounted({ "data-lang": "ar" });
  await visit.send("Do you ship?");
  expect(await visit.panel.boundingBox()).toEqual(await boxOf(visit, "#help-chat"));
  const [mark, tools] = await Promise.all([
    visit.panel.locator(".head .mark").boundingBox(),
    visit.panel.locator(".tools").boundingBox(),
  ]);
  expect(mark?.x).toBeGreaterThan(tools?.x ?? Number.POSITIVE_INFINITY);
});

for (const theme of ["light", "dark"]) {
  for (const lang of ["en", "ar"]) {
    test(
      `axe finds nothing in a page with the chat in it; ${theme}, ${lang} (W11)`,
      daily(theme === "dark" && lang === "ar"),
      async () => {
        it.service.script(answer(["Yes."]));
        const attributes = { "data-theme": theme, "data-lang": lang };
        const visit = await mounted(attributes, { reducedMotion: "reduce" });
        expect(await violations(visit.page)).toEqual([]);
        await visit.send("Do you ship?");
        await visit.page.locator("kefu-chat .actions").waitFor();
        expect(await violations(visit.page)).toEqual([]);
      },
    );
  }
}

test("a chat in the page does not open the panel of the next page, and keeps the conversation (W8)", async () => {
  it.service.script(answer(["Yes."]));
  const { page, panel, answers, launcher, send, idle } = await mounted();
  await send("Do you ship?");
  await eventually(() => answers.allInnerTexts(), ["Yes."]);
  await idle();
  await page.reload();
  await eventually(() => answers.allInnerTexts(), ["Yes."]);
  await page.goto(
    it.site.page("/shop", pageWith({ "data-api-url": it.service.url, "data-lang": "en" })),
  );
  await launcher.hover();
  await panel.waitFor({ state: "attached" });
  expect(await panel.isVisible()).toBe(false);
  await launcher.click();
  await eventually(() => answers.allInnerTexts(), ["Yes."]);
});

test("without the element of data-mount the page has the launcher, and one error (W12)", async () => {
  const all = { "data-api-url": it.service.url, "data-lang": "en", "data-mount": "#nowhere" };
  const { page, launcher, panel, errors } = await it.glance(it.site.page("/", pageWith(all)));
  await launcher.waitFor();
  expect(await panel.isVisible()).toBe(false);
  expect(errors).toEqual(["Chat widget: data-mount: the page has no element #nowhere"]);
  await page.getByRole("button", { name: "Open chat" }).click();
  await panel.waitFor();
});

test("if the file that moves the chat does not load, the page has the launcher (W12)", async () => {
  const all = { "data-api-url": it.service.url, "data-lang": "en", "data-mount": "#help-chat" };
  const { page, launcher, panel } = await it.glance(it.site.page("/blank", "<!doctype html>"));
  await page.route(/widget-mount/, (route) => route.abort());
  await page.goto(it.site.page("/mounted", pageWith(all, BOX)));
  await launcher.click();
  await panel.waitFor();
  expect(await panel.getAttribute("role")).toBe("dialog");
});

test("the widget in one file is shown in the box, too (W12)", async () => {
  const all = { "data-api-url": it.service.url, "data-lang": "en", "data-mount": "#help-chat" };
  const html = pageWith(all, '<div id="help-chat"></div>').replace("widget.js", "widget.all.js");
  const visit = await it.glance(it.site.page("/one", html));
  await visit.panel.waitFor();
  expect(await visit.panel.boundingBox()).toEqual(await boxOf(visit, "#help-chat"));
  expect(await visit.launcher.count()).toBe(0);
  expect(visit.errors).toEqual([]);
});
