// An operator with an open panel in a real Chromium, while a visitor asks for a person. Returns
// what told the operator, and after how many milliseconds.

import { newOperator } from "./operator.mjs";

/** `visitor`: the headers of a stored chat, as JSON; `address`: that of its form. */
export default async function visit(browser, service, token, visitor, address) {
  const headers = { "Content-Type": "application/json", ...JSON.parse(visitor) };
  const id = headers["X-Session-Id"];
  const send = async (path, body) => {
    const answer = await fetch(`${service}${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    await answer.text();
  };
  const say = (message) => send("/api/chat", { message, session_id: id });
  const { page, errors, violations } = await newOperator(browser, { reducedMotion: "reduce" });
  await page.context().grantPermissions(["notifications"], { origin: service });
  await page.addInitScript(() => {
    globalThis.told = [];
    globalThis.Notification = class extends EventTarget {
      static permission = "granted";
      static requestPermission = async () => "granted";
      constructor(title, { body }) {
        super();
        globalThis.told.push([title, body]);
      }
    };
  });
  await page.route("**/favicon.ico", (route) => route.fulfill({ body: "" }));
  await page.goto(`${service}/admin`);
  await page.locator("input[name=token]").fill(token);
  await page.locator(".entrance button").click();
  await page.locator(".rows a").first().waitFor();
  const bell = page.getByRole("button", { name: "Notify me" });
  await bell.click();
  await page.locator("button[aria-pressed=true]", { hasText: "Notify me" }).waitFor();
  const titles = [await page.title()];
  const took = [];
  const until = async (title) => {
    const began = Date.now();
    await page.waitForFunction((wanted) => document.title === wanted, title, { timeout: 30_000 });
    took.push(Date.now() - began);
    titles.push(title);
  };

  const form = { email: address, message: "Svalbard?", consent: true };
  await send(`/api/sessions/${id}/contact`, { client_message_id: crypto.randomUUID(), ...form });
  await until("(1) Kefu panel");
  const nav = await page.locator("nav").innerText();
  await page.locator(".rows .status.waiting").waitFor();
  await say("Is anybody there?");
  await page.locator(".rows .row-line", { hasText: "Is anybody there?" }).waitFor();
  const row = await page.locator(".rows li").first().innerText();
  await page.locator(".rows a").first().click();
  const asked = page.locator(".asked");
  await asked.waitFor();
  const order = await page.locator(".turn").allInnerTexts();
  const link = await asked.locator("a").getAttribute("href");
  const isAtEnd = await page.locator(".talk").evaluate((node) => {
    const { top } = node.getBoundingClientRect();
    return top < innerHeight;
  });
  const wrong = await violations();
  const calls = [await page.locator(".took:visible").count()];
  await page.getByRole("button", { name: "Why" }).click();
  calls.push(await page.locator(".took:visible").count());

  await page.locator("input[name=operator]").fill("Ingrid");
  await page.locator(".talk button[type=submit]").click();
  await page.locator(".talk textarea").waitFor();
  await until("Kefu panel");
  await page.locator('nav a[href="#"]').click();
  await page.locator(".pick").waitFor();
  await say("Thank you!");
  await until("(1) Kefu panel");
  wrong.push(...(await violations()));
  // One look later nothing is told twice.
  await page.waitForResponse((one) => one.url().endsWith("/queue"));
  await page.waitForResponse((one) => one.url().endsWith("/queue"));
  const told = await page.evaluate(() => globalThis.told);
  return { titles, took, nav, row, order, calls, link, isAtEnd, told, wrong, errors };
}
