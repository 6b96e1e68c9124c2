// An operator corrects two answers of a chat in a real Chromium. Returns the saved file and
// what was shown.

import { readFile } from "node:fs/promises";
import { openPanel } from "./operator.mjs";

/** `theme`: light or dark. */
export default async function visit(browser, service, token, session, theme) {
  const viewport = { width: 1280, height: 900 };
  const opened = await openPanel(browser, { service, token, theme, viewport });
  const { page, errors, violations } = opened;
  await page.locator(".rows a").first().waitFor();
  await page.goto(`${service}/admin#s=${session}`);

  const correct = async (question, right) => {
    const turn = page.locator(".content .turn", { hasText: question });
    await turn.getByRole("button", { name: "Add to tests" }).click();
    await turn.locator(".correction textarea").fill(right);
    const coming = page.waitForEvent("download");
    await turn.locator(".correction button[type=submit]").click();
    const file = await coming;
    await turn.locator(".correction [role=status]:not(:empty)").waitFor();
    return { name: file.suggestedFilename(), text: await readFile(await file.path(), "utf8") };
  };
  await correct("<how long>", "Nine days.");
  const { name, text } = await correct("<svalbard>", "No, \"not\" at\nall.");
  const said = await page.locator(".correction [role=status]:not(:empty)").last().innerText();
  const failed = page.locator(".content .turn", { hasText: "<broken>" });
  const withoutAnswer = await failed.getByRole("button", { name: "Add to tests" }).count();
  const wrong = await violations();
  if (process.env.SHOTS) {
    await page.screenshot({ path: `${process.env.SHOTS}/correction-${theme}.png`, fullPage: true });
  }
  return { name, text, said, withoutAnswer, wrong, errors };
}
