// An operator opens the panel's list of requests in a real Chromium. Returns what it showed.

import { readFile } from "node:fs/promises";
import { openPanel } from "./operator.mjs";

/** `theme`: light or dark. */
export default async function visit(browser, service, token, theme) {
  const viewport = { width: 1100, height: 700 };
  const opened = await openPanel(browser, { service, token, theme, viewport });
  const { page, errors, violations } = opened;
  await page.locator('nav a[href="#requests"]').click();
  await page.locator(".contacts li").first().waitFor();
  const rows = await page.locator(".contacts li").allInnerTexts();
  const current = await page.locator("nav [aria-current]").innerText();
  const wrong = await violations();
  if (process.env.SHOTS) {
    await page.screenshot({ path: `${process.env.SHOTS}/panel-${theme}.png` });
  }
  const line = page.locator("aside .trouble:not([hidden])");
  const trouble = await line.locator("span").innerText();
  // All that failed, which is one.
  const sent = [];
  page.on("request", (request) => request.url().endsWith("/send") && sent.push(request.url()));
  const answered = page.waitForResponse((response) => response.url().endsWith("/send"));
  await line.getByRole("button", { name: "Send again" }).click();
  const resent = [(await answered).status(), sent.length];
  const newest = page.locator(".contacts li").first();
  await newest.getByRole("button", { name: "Send again" }).click();
  await newest.getByText("not delivered yet").waitFor();
  const oldest = page.locator(".contacts li").last();
  await oldest.getByRole("button", { name: "Done" }).click();
  await oldest.getByRole("button", { name: "Not done" }).waitFor();
  const done = await oldest.innerText();
  const count = await page.locator(".contacts li").count();
  await page.getByRole("button", { name: "More" }).click();
  await page.locator(".contacts li").nth(count).waitFor();
  const more = (await page.locator(".contacts li").count()) - count;
  await page.locator(".contacts li").last().getByRole("button", { name: "Delete" }).click();
  wrong.push(...(await violations()));
  await page.locator("dialog[open] input").check();
  const saving = page.waitForEvent("download");
  await page.locator("dialog[open] .danger").click();
  const receipt = JSON.parse(await readFile(await (await saving).path(), "utf8"));
  await page.locator(".contacts li").nth(count + more - 1).waitFor({ state: "detached" });
  const mail = await page.locator(".contacts a[href^='mailto:']").first().getAttribute("href");
  await page.locator(".contacts a[href^='#']").first().click();
  // The list beside it shows the same words.
  await page.locator(".content").getByText("Do you ship").first().waitFor();
  const chat = await page.locator(".content").innerText();
  return { rows, done, more, trouble, resent, mail, receipt, current, chat, wrong, errors };
}
