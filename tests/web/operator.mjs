// An operator in a real Chromium, for the scripts beside this file.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const require = createRequire(new URL("../../widget/package.json", import.meta.url));

/**
 * Opens an empty page. Returns it with the `errors` of its console, which has the violations of the
 * page's policy, too, and a function that lists what axe finds.
 */
export async function newOperator(browser, options = {}) {
  const context = await browser.newContext({ locale: "en-US", ...options });
  const page = await context.newPage();
  const errors = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  const violations = async () => {
    // Through the DevTools protocol, because the page's policy forbids other scripts.
    const session = await context.newCDPSession(page);
    const run = async (expression) => {
      const asked = { expression, awaitPromise: true, returnByValue: true };
      return (await session.send("Runtime.evaluate", asked)).result.value;
    };
    await run(await readFile(require.resolve("axe-core/axe.min.js"), "utf8"));
    const found = await run("axe.run()");
    return found.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    );
  };
  return { page, errors, violations };
}

/** Opens the panel of `service` with `token`. */
export async function openPanel(browser, { service, token, theme, viewport }) {
  const options = { colorScheme: theme, reducedMotion: "reduce", viewport };
  const operator = await newOperator(browser, options);
  const { page } = operator;
  await page.route("**/favicon.ico", (route) => route.fulfill({ body: "" }));
  await page.goto(`${service}/admin`);
  await page.locator("input[name=token]").fill(token);
  await page.locator(".entrance button").click();
  return operator;
}
