/** Languages that are fetched, also when fetching fails (W9). */

import { expect, test } from "vitest";
import { answer } from "../scripted-service.ts";
import { pageWith } from "../site.ts";
import { daily, eventually, stage, type Visit } from "./harness.ts";

const it = stage();

function page(attributes: Readonly<Record<string, string>>, lang = "en"): string {
  const all = { "data-api-url": it.service.url, "data-open": "", ...attributes };
  return it.site.page("/", pageWith(all).replace('lang="en"', `lang="${lang}"`));
}

/** The placeholder of the text field, and the direction of the widget. */
function shown({ page }: Visit): Promise<unknown[]> {
  return page.locator("kefu-chat").evaluate((host) => {
    const { lang, dir } = host as HTMLElement;
    return [lang, dir, host.shadowRoot?.querySelector("textarea")?.placeholder];
  });
}

test("data-lang decides, else the page, else the browser (W9)", async () => {
  const ways: readonly (readonly [string, object, string, string, string])[] = [
    ["ar", { "data-lang": "ar" }, "fr", "ja-JP", "rtl"],
    ["fr", {}, "fr-CA", "ja-JP", "ltr"],
    ["ja", {}, "tlh", "ja-JP", "ltr"],
    ["zh-TW", { "data-lang": "zh-Hant-HK" }, "en", "en-US", "ltr"],
  ];
  for (const [lang, attributes, ofPage, locale, dir] of ways) {
    const visit = await it.open(page({ ...attributes }, ofPage), { locale });
    await visit.panel.waitFor();
    const texts = (await import(`../../src/languages/${lang}.ts`)).default;
    expect(await shown(visit)).toEqual([lang, dir, texts.placeholder]);
    expect(await visit.launcher.getAttribute("aria-label")).toBe(texts.close);
    expect(visit.errors).toEqual([]);
  }
});

test("the direction of a question is that of its own letters, not of the widget (W9)", async () => {
  it.service.script(answer(["On its way."]), answer(["في الطريق."]));
  const visit = await it.open(page({ "data-lang": "ar" }));
  await visit.panel.waitFor();
  for (const [question, direction, answered] of [
    ["Where is order 3?", "ltr", "On its way."],
    ["أين طلبي 3؟", "rtl", "في الطريق."],
  ] as const) {
    await visit.send(question);
    await eventually(() => visit.answers.last().innerText(), answered);
    const style = await visit.page
      .locator("kefu-chat .question")
      .last()
      .evaluate((node) => getComputedStyle(node).direction);
    expect(style).toBe(direction);
  }
});

for (const [name, fails] of [
  ["is not there", "404"],
  ["is no JSON", "<!doctype html>"],
  ["never comes", ""],
] as const) {
  test(
    `a language that ${name}: the widget speaks English, and can be used (W9)`,
    daily(fails === "404"),
    async () => {
      const visit = await it.glance(it.site.page("/blank", '<link rel="icon" href="data:,">'));
      await visit.page.route(/chat-widget-ar/, (route) => {
        if (fails === "404") return route.fulfill({ status: 404, body: "{}" });
        return fails === "" ? undefined : route.fulfill({ body: fails });
      });
      await visit.page.goto(page({ "data-lang": "ar" }));
      await visit.panel.waitFor();
      expect(await shown(visit)).toEqual(["en", "ltr", "Ask anything…"]);
    },
  );
}

test("where the policy of the page forbids it, English, which needs no request (W9, W14)", async () => {
  const policy = `; connect-src ${new URL(it.service.url).origin}`;
  const html = pageWith({ "data-api-url": it.service.url, "data-open": "", "data-lang": "ar" });
  const visit = await it.open(it.site.page("/strict", html, `, default-src * data:${policy}`));
  await visit.panel.waitFor();
  expect((await shown(visit))[0]).toBe("en");
  const english = html.replace('"ar"', '"en"');
  const other = await it.open(it.site.page("/strict", english, `, default-src * data:${policy}`));
  await other.panel.waitFor();
  expect((await shown(other))[0]).toBe("en");
  expect(other.errors).toEqual([]);
});

test("greeting, suggestions and title have texts for single languages (W28)", async () => {
  const attributes = {
    "data-greeting": "What can we do?",
    "data-greeting-zh": "有什么可以帮您？",
    "data-suggestions": "Do you ship?",
    "data-suggestions-zh-cn": "发货吗？|能退吗？",
  };
  const greetings: Readonly<Record<string, string>> = {
    en: "What can we do?",
    "zh-CN": "有什么可以帮您？",
  };
  for (const [lang, greeting] of Object.entries(greetings)) {
    const { page } = await it.visit({ ...attributes, "data-lang": lang });
    expect(await page.locator("kefu-chat .log > .answer").innerText()).toBe(greeting);
    expect(await page.locator("kefu-chat .pill").count()).toBe(lang === "en" ? 1 : 2);
  }
});
