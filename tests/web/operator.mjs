// An operator in a real Chromium, for the scripts beside this file.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const require = createRequire(new URL("../../widget/package.json", import.meta.url));

/**
 * Opens the panel of `service` with `token`. Returns its page, the `errors` of its console, and a
 * function that lists what axe finds.
 */
export async function openPanel(browser, { service, token, theme, viewport }) {
  const context = await browser.newContext({
    locale: "en-US",
    colorScheme: theme,
    // The page allows no script but its own; axe is one.
    bypassCSP: true,
    reducedMotion: "reduce",
    viewport,
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
  const violations = async () => {
    await page.evaluate(await readFile(require.resolve("axe-core/axe.min.js"), "utf8"));
    const found = await page.evaluate(() => globalThis.axe.run());
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
  };
  return { page, errors, violations };
}
