// An operator in a real Chromium: does what a JSON of instructions says, and returns what was seen.

import { readFileSync } from "node:fs";
import { newOperator } from "./operator.mjs";

/** Returns what each name of a step does on the page. `url`: the service. */
function stepsOn(page, url, seen, violations) {
  const content = page.locator(".content");

  /** Performs an action that changes the view, and waits until the former content is gone. */
  async function turnTo(act) {
    const shown = await content.locator(":scope > *").elementHandles();
    await act();
    await Promise.all(shown.map((node) => node.waitForElementState("hidden")));
  }

  return {
    async open(to) {
      await page.goto(to);
    },
    async session(id) {
      await turnTo(() => page.goto(`${url}/admin#s=${id}`));
      await content.locator(".turn").first().waitFor();
    },
    async hash(hash) {
      await turnTo(() => page.goto(`${url}/admin#${hash}`));
      await content.locator("table").first().waitFor();
    },
    async texts([name, selector]) {
      await page.locator(selector).first().waitFor();
      seen[name] = await page.locator(selector).allTextContents();
    },
    async title(name) {
      seen[name] = await page.title();
    },
    /** Counts the requests of a list of sessions that a step makes. */
    async lists([name, step, argument]) {
      seen[name] = 0;
      const note = (request) => {
        if (/api\/sessions(\?|$)/.test(request.url())) seen[name] += 1;
      };
      page.on("request", note);
      await this[step](argument);
      await page.waitForLoadState("networkidle");
      page.off("request", note);
    },
    async count([name, selector]) {
      seen[name] = await page.locator(selector).count();
    },
    async click(selector) {
      await page.locator(selector).first().click();
    },
    async leave([selector, start]) {
      const left = page.waitForRequest((request) => request.url().startsWith(start));
      await Promise.all([left, page.locator(selector).click()]);
    },
    async press([selector, key]) {
      await page.locator(selector).first().press(key);
    },
    async fill([selector, text]) {
      await page.locator(selector).first().fill(text);
    },
    async paste([selector, text]) {
      await page.locator(selector).first().focus();
      await page.keyboard.insertText(text);
    },
    async select([selector, value]) {
      await page.locator(selector).first().selectOption(value);
    },
    async download([name, selector]) {
      const [saved] = await Promise.all([
        page.waitForEvent("download"),
        page.locator(selector).first().click(),
      ]);
      seen[name] = readFileSync(await saved.path(), "utf8");
    },
    async gone(selector) {
      await page.locator(selector).first().waitFor({ state: "detached" });
    },
    async hidden(selector) {
      await page.locator(selector).first().waitFor({ state: "hidden" });
    },
    async wait(selector) {
      await page.locator(selector).first().waitFor();
    },
    async clipboard(name) {
      do seen[name] = await page.evaluate(() => navigator.clipboard.readText());
      while (!seen[name]);
      // The clipboard is the browser's, and the next visit waits until it has a text.
      await page.evaluate(() => navigator.clipboard.writeText(""));
    },
    async address(name) {
      seen[name] = page.url();
    },
    async kept(name) {
      seen[name] = await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }));
    },
    async focused(name) {
      seen[name] = await page.evaluate(() => document.activeElement?.textContent);
    },
    async active(name) {
      seen[name] = await page.evaluate(() => {
        const { tagName, name, value } = document.activeElement;
        return [tagName, name, value].filter(Boolean).join(" ");
      });
    },
    async keys(keys) {
      for (const key of keys) await page.keyboard.press(key);
    },
    async file(path) {
      await turnTo(() => page.locator("input[type=file]").setInputFiles(path));
    },
    async axe(state) {
      seen.axe.push(...(await violations()).map((found) => `${state}: ${found}`));
    },
    async size([width, height]) {
      await page.setViewportSize({ width, height });
    },
    async scheme(colorScheme) {
      await page.emulateMedia({ colorScheme });
    },
    async overflow(name) {
      seen[name] = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
    },
    async post([url, body, headers]) {
      const answer = await fetch(url, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      await answer.text();
    },
    async marked(name) {
      await page.waitForFunction(() => CSS.highlights.get("found")?.size);
      seen[name] = await page.evaluate(() => [...CSS.highlights.get("found")].map(String));
    },
    async letters(size) {
      await page.evaluate((size) => {
        document.body.style.fontSize = size;
        for (const node of document.querySelectorAll("label, input, select")) node.style.fontSize = size;
      }, size);
    },
    async over([name, selector]) {
      const box = page.locator(selector).first();
      seen[name] = await box.evaluate((node) => node.scrollWidth - node.clientWidth);
    },
    async boxes([name, selector]) {
      await page.locator(selector).first().waitFor();
      seen[name] = await page.locator(selector).evaluateAll((nodes) =>
        nodes.map((node) => {
          const { left, right } = node.getBoundingClientRect();
          return { lines: node.getClientRects().length, left, right };
        }),
      );
    },
    async top(selector) {
      await page.locator(selector).first().evaluate((node) => node.scrollIntoView());
    },
    async shot(path) {
      await page.screenshot({ path });
    },
  };
}

/** `instructions` is JSON: {url, context, steps: [[name, argument], …]} */
export default async function visit(browser, instructions) {
  const asked = JSON.parse(instructions);
  const { page, errors, violations } = await newOperator(browser, {
    timezoneId: "UTC",
    viewport: { width: 1360, height: 900 },
    permissions: ["clipboard-read", "clipboard-write"],
    ...asked.context,
  });
  const seen = { errors, dialogs: [], foreign: [], axe: [] };
  page.on("dialog", async (dialog) => {
    seen.dialogs.push(dialog.message());
    await dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(`${asked.url}/admin`)) seen.foreign.push(request.url());
  });
  const steps = stepsOn(page, asked.url, seen, violations);
  try {
    for (const [step, argument] of asked.steps) await steps[step](argument);
  } catch (error) {
    const html = await page.locator("body").innerText();
    throw new Error(`${error} ${JSON.stringify({ ...seen, html })}`);
  }
  return seen;
}
