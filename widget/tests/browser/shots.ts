/** Pictures to look at: the widget and the demo page, light and dark, wide and narrow, en and zh. */

import { mkdir } from "node:fs/promises";
import type { Page } from "playwright-core";
import { test } from "vitest";
import { chunk, DONE, finish, type Play, refusal } from "../scripted-service.ts";
import { stage } from "./harness.ts";

const OUT = process.env.SHOTS ?? "/tmp/kefu-shots";
const it = stage();

const LANGUAGES = {
  en: {
    locale: "en-US",
    notice:
      "These answers come from SmolLM2-135M-Instruct, a very small model on this computer, so that you can try Kefu without an account. Set LONGCAT_API_KEYS for a real one.",
    questions: ["Do you ship to Norway?", "And if it does not fit?"],
    answers: [
      "Yes. Parcels to Norway leave our warehouse the same day and take three to five working days.\n\nCustoms are paid at checkout, so nothing is due at the door.",
      "Send it back within 30 days, unworn and with its label. The way back is free; we refund the price within",
    ],
  },
  zh: {
    locale: "zh-CN",
    notice:
      "These answers come from SmolLM2-135M-Instruct, a very small model on this computer, so that you can try Kefu without an account. Set LONGCAT_API_KEYS for a real one.",
    questions: ["你好，我想咨询签证", "需要多长时间？"],
    answers: [
      "来华就医通常申请 S2 或 M 类签证，需要准备：\n\n1. 有效期六个月以上的护照\n2. 医院出具的诊疗邀请函\n3. 费用预估与资金证明",
      "材料齐全后一般 4 个工作日可以出签，加急",
    ],
  },
} as const;

const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };

function whole(text: string): Play {
  return { acts: [{ send: chunk(text) + finish() + DONE }] };
}

async function demo(page: Page, language: keyof typeof LANGUAGES): Promise<void> {
  const { notice } = LANGUAGES[language];
  await page.route("**/health", (route) =>
    route.fulfill({
      json: { status: "ok", model: "SmolLM2-135M-Instruct", upstream: "local-model", notice },
    }),
  );
  await page.route("**/api/chat", (route) => route.fallback());
}

for (const language of ["en", "zh"] as const) {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [size, viewport] of Object.entries(SIZES)) {
      test(`${language} ${colorScheme} ${size}`, async () => {
        await mkdir(OUT, { recursive: true });
        const { locale, questions, answers } = LANGUAGES[language];
        it.service.script(whole(answers[0]), { acts: [{ send: chunk(answers[1]) }, "silence"] });
        const context = await it.browser.newContext({
          colorScheme,
          viewport,
          locale,
          deviceScaleFactor: 2,
        });
        const page = await context.newPage();
        await demo(page, language);
        const html = (await demoPage()).replace("/api/chat", it.service.url);
        await page.goto(it.site.page("/", html));
        const host = page.locator("kefu-chat");
        await page.locator("#notice").waitFor();
        const shot = (name: string): Promise<unknown> =>
          page.screenshot({ path: `${OUT}/${language}-${colorScheme}-${size}-${name}.png` });
        await page.waitForTimeout(300);
        await shot("start");
        if (size === "phone") await host.locator(".launcher").click();
        await host.locator("textarea").fill(questions[0]);
        await host.locator("textarea").press("Enter");
        await host.locator('.act[aria-disabled="true"]').waitFor();
        await host.locator("textarea").fill(questions[1]);
        await host.locator("textarea").press("Enter");
        await page.waitForTimeout(400);
        await shot("streaming");
        it.service.script(refusal(503, "upstream_service_unavailable"));
        await page.waitForTimeout(200);
        await host.locator(".act").click();
        await host.locator(".quiet").waitFor();
        await host.locator("textarea").fill(questions[0]);
        await host.locator("textarea").press("Enter");
        await host.locator(".trouble").waitFor();
        await page.waitForTimeout(300);
        await shot("trouble");
      });
    }
  }
}

async function demoPage(): Promise<string> {
  const { readFile } = await import("node:fs/promises");
  const path = "../../../functions/kefu/web/static/demo.html";
  return readFile(new URL(path, import.meta.url), "utf8");
}
