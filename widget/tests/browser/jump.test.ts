/** The button that scrolls to the newest message. */

import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer, chunk, DONE, finish, gate } from "../scripted-service.ts";
import { violations } from "./axe.ts";
import { daily, eventually, stage, type Visit } from "./harness.ts";

const it = stage();
const LONG = Array.from({ length: 60 }, (_, at) => `Line ${at + 1}.\n\n`);

const jumpOf = (page: Page): Locator => page.locator("kefu-chat .jump");
const scroll = (page: Page, top: number): Promise<void> =>
  page.locator("kefu-chat .log").evaluate((log, to) => {
    log.scrollTop = to;
  }, top);
const gap = (page: Page): Promise<number> =>
  page
    .locator("kefu-chat .log")
    .evaluate((log) => Math.round(log.scrollHeight - log.scrollTop - log.clientHeight));

/** A visit at the end of a long answer; `release` sends the rest, a paragraph every 30 milliseconds. */
async function heldAnswer(): Promise<Visit & { release: () => void }> {
  const held = gate();
  const rest = LONG.flatMap((text) => [{ send: chunk(text) }, { wait: 30 }]);
  it.service.script({
    acts: [{ send: chunk(LONG.join("")) }, held, ...rest, { send: finish() + DONE }],
  });
  const visit = await it.visit();
  await visit.send("Tell me everything");
  await visit.page.getByText("Line 60.").waitFor();
  await visit.page.locator("kefu-chat .tools").waitFor();
  await eventually(() => gap(visit.page), 0);
  return { ...visit, release: held.open };
}

test("a reader who scrolled up gets a button to the newest message; it moves nothing (D14)", async () => {
  it.service.script(answer(LONG));
  const { page, send, idle, errors } = await it.visit();
  await send("Tell me everything");
  await idle();
  await page.locator("kefu-chat .actions").waitFor();
  expect(await jumpOf(page).isVisible()).toBe(false);
  const boxes = (): Promise<unknown> =>
    Promise.all(
      [".log", ".composer", ".question"].map(async (part) => {
        const box = await page.locator(`kefu-chat ${part}`).boundingBox();
        return part === ".question" ? box?.width : box;
      }),
    );
  const before = await boxes();
  await scroll(page, 0);
  await jumpOf(page).waitFor();
  expect(await boxes()).toEqual(before);
  expect(await jumpOf(page).getAttribute("aria-label")).toBe("Go to the newest message");
  const [button, log] = await Promise.all(
    [".jump", ".log"].map((part) => page.locator(`kefu-chat ${part}`).boundingBox()),
  );
  if (!button || !log) throw new Error("not on the page");
  expect(button.y + button.height).toBeLessThanOrEqual(log.y + log.height);
  expect(Math.abs(button.x + button.width / 2 - log.x - log.width / 2)).toBeLessThanOrEqual(1);
  expect(await violations(page)).toEqual([]);
  await jumpOf(page).click();
  await jumpOf(page).waitFor({ state: "hidden" });
  expect(await gap(page)).toBeLessThanOrEqual(1);
  expect(errors).toEqual([]);
});

test("text that arrives below shows the button; after it the conversation follows again (D14, W8)", async () => {
  const { page, idle, release } = await heldAnswer();
  // So little that the button would not be needed.
  await page.locator("kefu-chat .log").evaluate((log) => {
    log.scrollTop -= 20;
  });
  await page.evaluate(() => new Promise((done) => setTimeout(done, 100)));
  expect(await jumpOf(page).isVisible()).toBe(false);
  release();
  await jumpOf(page).waitFor();
  await jumpOf(page).click();
  await idle();
  await page.locator("kefu-chat .actions").waitFor();
  await eventually(async () => (await gap(page)) <= 1, true);
  expect(await jumpOf(page).isVisible()).toBe(false);
});

test("a reader who scrolled up stays there while the answer grows (D14, W8)", async () => {
  const { page, idle, release } = await heldAnswer();
  // Each change of the answer is laid out at once, as on a page whose own script asks for sizes.
  const tops = await page.locator("kefu-chat .log").evaluateHandle((log) => {
    log.scrollTop -= 20;
    const seen = [log.scrollTop];
    new MutationObserver(() => seen.push(log.scrollTop)).observe(log, {
      childList: true,
      subtree: true,
    });
    return seen;
  });
  release();
  await idle();
  const seen = await tops.jsonValue();
  expect(seen.length).toBeGreaterThan(10);
  expect(new Set(seen).size).toBe(1);
  expect(await jumpOf(page).isVisible()).toBe(true);
});

for (const [language, name] of [
  ["ar", "الانتقال إلى أحدث رسالة"],
  ["zh-CN", "跳到最新消息"],
] as const) {
  test(
    `${language}, phone: the button is reached by Tab, keeps the focus in the panel, and is in the middle (W9, W11)`,
    daily(language === "ar"),
    async () => {
      it.service.script(answer(LONG));
      const visit = await it.visit(
        { "data-lang": language, "data-theme": "dark" },
        { viewport: { width: 390, height: 844 }, reducedMotion: "reduce" },
      );
      const { page, launcher } = visit;
      await launcher.click();
      await visit.send("?");
      await page.locator("kefu-chat .actions").waitFor();
      await scroll(page, 0);
      await jumpOf(page).waitFor();
      expect(await violations(page)).toEqual([]);
      const box = await jumpOf(page).boundingBox();
      expect(Math.abs((box?.x ?? 0) + (box?.width ?? 0) / 2 - 195)).toBeLessThanOrEqual(1);
      expect(box?.width).toBeGreaterThanOrEqual(36);
      await page.locator("kefu-chat textarea").focus();
      await page.keyboard.press("Shift+Tab");
      expect(await page.getByRole("button", { name }).evaluate((n) => n.matches(":focus"))).toBe(
        true,
      );
      await page.keyboard.press("Enter");
      await jumpOf(page).waitFor({ state: "hidden" });
      const log = page.locator("kefu-chat .log");
      expect(await log.evaluate((n) => n.matches(":focus"))).toBe(true);
      expect(await gap(page)).toBeLessThanOrEqual(1);
    },
  );
}

test("a new chat, and a chat that fits its panel, have no button (D14)", async () => {
  it.service.script(answer(LONG), answer(["Short."]));
  const { page, send, idle } = await it.visit();
  await send("Tell me everything");
  await idle();
  await page.locator("kefu-chat .actions").waitFor();
  await scroll(page, 0);
  await jumpOf(page).waitFor();
  await page.evaluate(() => window.ChatWidget?.reset());
  await jumpOf(page).waitFor({ state: "hidden" });
  await send("Tell me little");
  await page.getByText("Short.").waitFor();
  expect(await jumpOf(page).isVisible()).toBe(false);
});
