/** The demo page: the model, the tag to copy, in the visitor's language, under a strict CSP. */

import { readFile } from "node:fs/promises";
import type { BrowserContextOptions } from "playwright-core";
import { expect, test } from "vitest";
import { answer } from "../scripted-service.ts";
import { daily, eventually, stage, testInChromium, type Visit } from "./harness.ts";

const it = stage();
const DEMO = new URL("../../../functions/kefu/web/static/demo.html", import.meta.url);

const HEALTH = { status: "ok", model: "tiny-1", upstream: "local-model", notice: "Tiny answers." };
const BUILD = { file: "chat-widget.0a1b.js", integrity: "sha384-abc" };

async function visit(
  health: object | undefined,
  options: BrowserContextOptions = { locale: "en-US" },
): Promise<Visit> {
  const html = await readFile(DEMO, "utf8");
  it.site.page("/health", health === undefined ? "{ no JSON" : JSON.stringify(health));
  it.site.page("/chat-widget.json", JSON.stringify(BUILD));
  return it.open(it.site.page("/", html.replace("/api/chat", it.service.url)), options);
}

const NOTICES: readonly (readonly [string, string, object | undefined, string])[] = [
  ["en-US", "a local model", HEALTH, "Tiny answers."],
  ["de-DE", "a local model", HEALTH, "Tiny answers."],
  ["en-US", "no sentence", { ...HEALTH, notice: "" }, "Answers come from tiny-1."],
  ["en-US", "a service that is down", undefined, "The service does not answer."],
  ["zh-CN", "a remote model", { ...HEALTH, upstream: "remote", notice: "" }, "由 tiny-1 回答。"],
  ["zh-CN", "a warning", { ...HEALTH, status: "degraded", notice: "No key." }, "No key."],
  [
    "zh-CN",
    "sample mode",
    { ...HEALTH, upstream: "sample" },
    "示例模式：没有连接模型，回答是已学习页面的原文引用。设置 KEFU_API_KEYS 后由模型回答。",
  ],
];

const DAILY = [
  "a local model, in en-US",
  "a service that is down, in en-US",
  "a remote model, in zh-CN",
];

for (const [locale, name, health, expected] of NOTICES) {
  test(
    `the demo page says who answers: ${name}, in ${locale} (C17)`,
    daily(DAILY.includes(`${name}, in ${locale}`)),
    async () => {
      const { page } = await visit(health, { locale });
      await eventually(() => page.locator("#notice").textContent(), expected);
    },
  );
}

test("the demo page opens the chat, ready to be asked, with nothing refused by its CSP (C17)", async () => {
  it.service.script(answer(["Yes."]));
  const { panel, send, answers, errors } = await visit(HEALTH);
  await panel.waitFor();
  await send("Are you there?");
  await eventually(() => answers.innerText(), "Yes.");
  expect(errors).toEqual([]);
});

test("the demo page copies the tag, for this very server (C17)", async () => {
  const permissions = ["clipboard-read", "clipboard-write"];
  const { page } = await visit(HEALTH, { locale: "en-US", permissions });
  await page.locator("#copy").click();
  await eventually(() => page.locator("#copy").innerText(), "Copied");
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied.replace(/\s+/g, " ")).toBe(
    `<script src="${it.site.origin}/chat-widget.js" ` +
      `data-api-url="${it.site.origin}/api/chat" defer></script>`,
  );
});

test("the demo page pins the tag to this build's hash and back (C16)", async () => {
  const { page } = await visit(HEALTH);
  const tag = (): Promise<string> => page.locator("#tag").innerText();
  await page.locator("#pin").click();
  expect(await tag()).toContain(`${it.site.origin}/chat-widget.0a1b.js`);
  expect(await tag()).toContain('integrity="sha384-abc"');
  expect(await tag()).toContain('crossorigin="anonymous"');
  await page.locator("#pin").click();
  expect(await tag()).not.toContain("integrity");
});

test("the demo page and its chat speak Chinese to a Chinese browser", async () => {
  const { page } = await visit(HEALTH, { locale: "zh-CN" });
  const texts = await page.locator("[data-text]").allTextContents();
  expect(texts.filter((text) => !/\p{Script=Han}/u.test(text))).toEqual([]);
  expect(await page.locator("kefu-chat textarea").getAttribute("placeholder")).toBe(
    "输入您的问题…",
  );
  expect(await page.evaluate(() => document.documentElement.lang)).toBe("zh-CN");
});

for (const colorScheme of ["light", "dark"] as const) {
  // Firefox has no command for the theme, and is light.
  const testIt = colorScheme === "light" ? test : testInChromium;
  testIt(
    `the demo page and its chat follow the system: ${colorScheme}`,
    daily(colorScheme === "dark"),
    async () => {
      const { page, panel } = await visit(HEALTH, { colorScheme });
      const brightness = (css: string): number => Number(/\d+/.exec(css)?.[0]);
      const ground = (node: Element): string => getComputedStyle(node).backgroundColor;
      const wanted = colorScheme === "light" ? [true, true] : [false, false];
      const grounds = [
        brightness(await page.locator("body").evaluate(ground)) > 128,
        brightness(await panel.evaluate(ground)) > 128,
      ];
      expect(grounds).toEqual(wanted);
    },
  );
}
