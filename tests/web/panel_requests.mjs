// An operator opens the panel's list of requests in a real Chromium. Prints as JSON what it showed.
// Usage: node panel_requests.mjs SERVICE TOKEN light|dark

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { launchChromium } from "../../widget/tests/chromium.mjs";

const [, , service, token, theme] = process.argv;
const require = createRequire(new URL("../../widget/package.json", import.meta.url));
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");

const browser = await launchChromium();
try {
  // The page allows no script but its own; axe is one.
  const context = await browser.newContext({
    locale: "en-US",
    colorScheme: theme,
    bypassCSP: true,
    reducedMotion: "reduce",
    viewport: { width: 1100, height: 700 },
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
  await page.locator('nav a[href="#requests"]').click();
  await page.locator(".contacts li").first().waitFor();
  const rows = await page.locator(".contacts li").allInnerTexts();
  const current = await page.locator("nav [aria-current]").innerText();
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run());
  const wrong = found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
  if (process.env.SHOTS) {
    await page.screenshot({ path: `${process.env.SHOTS}/panel-${theme}.png` });
  }
  await page.locator(".contacts a").first().click();
  // The list beside it shows the same words.
  await page.locator(".content").getByText("Do you ship").first().waitFor();
  const chat = await page.locator(".content").innerText();
  console.log(JSON.stringify({ rows, current, chat, wrong, errors }));
} finally {
  await browser.close();
}
