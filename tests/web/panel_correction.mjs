// An operator corrects two answers of a chat in a real Chromium. Prints the saved file and what was shown.
// Usage: node panel_correction.mjs SERVICE TOKEN SESSION light|dark

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { launchChromium } from "../../widget/tests/chromium.mjs";

const [, , service, token, session, theme] = process.argv;
const require = createRequire(new URL("../../widget/package.json", import.meta.url));
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");

const browser = await launchChromium();
try {
  // The page allows no script but its own; axe is one.
  const context = await browser.newContext({
    locale: "en-US",
    colorScheme: theme,
    bypassCSP: true,
    viewport: { width: 1280, height: 900 },
  });
  const page = await context.newPage();
  const errors = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.route("**/favicon.ico", (route) => route.fulfill({ body: "" }));
  await page.goto(`${service}/admin`);
  await page.locator("input[name=token]").fill(token);
  await page.locator(".entrance button").click();
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
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run());
  const wrong = found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
  if (process.env.SHOTS) {
    await page.screenshot({ path: `${process.env.SHOTS}/correction-${theme}.png`, fullPage: true });
  }
  console.log(JSON.stringify({ name, text, said, withoutAnswer, wrong, errors }));
} finally {
  await browser.close();
}
