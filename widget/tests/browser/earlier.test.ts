/** The oldest rows of a long conversation are off the page, behind a button (W27). */

import { expect, test } from "vitest";
import { answer } from "../scripted-service.ts";
import { violations } from "./axe.ts";
import { eventually, stage } from "./harness.ts";

const it = stage();
const MESSAGES = 82;

/** Asks in the page itself, because each call from outside takes longer than an answer. */
async function talk(messages: number): Promise<void> {
  const root = document.querySelector("kefu-chat")?.shadowRoot;
  const input = root?.querySelector("textarea") as HTMLTextAreaElement;
  const isWhole = (wanted: string): boolean =>
    [...(root?.querySelectorAll<HTMLElement>("div.answer") ?? [])].at(-1)?.innerText === wanted &&
    root?.querySelector('.act[aria-label="Send"]') !== null;
  for (let at = 0; at < messages; at += 1) {
    input.value = `Question ${at}`;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    const options = { key: "Enter", bubbles: true, cancelable: true };
    input.dispatchEvent(new KeyboardEvent("keydown", options));
    while (!isWhole(`Answer ${at}`)) await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("a long conversation keeps its newest rows on the page; the others come back in their place (W27)", async () => {
  it.service.script(...Array.from({ length: MESSAGES + 1 }, (_, at) => answer([`Answer ${at}`])));
  const { page, send, answers, errors } = await it.visit({}, { reducedMotion: "reduce" });
  await page.evaluate(talk, MESSAGES);
  const log = page.locator("kefu-chat .log");
  const rows = page.locator("kefu-chat .turn");
  const more = page.locator("kefu-chat .earlier");
  await more.waitFor();
  // The file may come during the next messages.
  await eventually(async () => (await rows.count()) < 54, true);
  expect(await rows.count()).toBeGreaterThanOrEqual(50);
  expect(await log.locator(":scope > *").nth(1).getAttribute("class")).toBe("earlier");
  expect(await answers.last().innerText()).toBe(`Answer ${MESSAGES - 1}`);
  await log.evaluate((node) => {
    node.scrollTop = 0;
  });
  expect(await violations(page)).toEqual([]);
  const top = () =>
    rows.filter({ hasText: "Question 40" }).evaluate((row) => row.getBoundingClientRect().y);
  const before = await top();
  await more.click();
  expect(await rows.count()).toBe(MESSAGES);
  expect(await more.count()).toBe(0);
  expect(Math.abs((await top()) - before)).toBeLessThan(80);
  expect(await rows.first().textContent()).toContain("Question 0");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "New chat" }).click();
  await send("Afresh");
  await eventually(() => rows.count(), 1);
  expect(errors).toEqual([]);
});
