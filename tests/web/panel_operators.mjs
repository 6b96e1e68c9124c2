// Operators with links of their own in a real Chromium: ready replies, the end of a sign-in, and
// one who only reads. Returns what they saw.

import { newOperator } from "./operator.mjs";

/** `links`: of Ingrid, Bob, and Kari, who only reads. `id`: a chat that waits. */
export default async function visit(browser, service, links, id) {
  const [ingrid, bob, kari] = await Promise.all(
    JSON.parse(links).map(async (link) => {
      const operator = await newOperator(browser, { viewport: { width: 1360, height: 900 } });
      await operator.page.route("**/favicon.ico", (route) => route.fulfill({ body: "" }));
      await operator.page.goto(link);
      await operator.page.locator(".rows a").first().waitFor();
      return operator;
    }),
  );
  const wrong = [];
  const open = async ({ page }) => {
    await page.goto(`${service}/admin#s=${id}`);
    await page.locator(".talk").waitFor();
  };

  await open(ingrid);
  const bar = ingrid.page.locator(".talk");
  await ingrid.page.keyboard.press("r");
  await bar.locator("textarea").waitFor();
  const names = await bar.locator(".replies option").allInnerTexts();
  await bar.locator("textarea").fill("To Kari: !");
  await bar.locator("textarea").press("ArrowLeft");
  await bar.locator(".replies").selectOption({ label: "Returns" });
  const written = await bar.locator("textarea").inputValue();
  wrong.push(...(await ingrid.violations()));
  await bar.locator("textarea").press("Enter");
  await ingrid.page.locator(".bubble", { hasText: "30 days" }).waitFor();
  await ingrid.page.locator(".asked button", { hasText: /^Done$/ }).click();
  await ingrid.page.locator(".asked button", { hasText: "Not done" }).waitFor();

  // Kari reads everything and can change nothing.
  await open(kari);
  const held = await kari.page.locator(".talk").innerText();
  const controls = await kari.page.locator(".talk :is(input, textarea, button)").count();
  const buttons = await kari.page.locator(".content button").allInnerTexts();
  wrong.push(...(await kari.violations()));
  await kari.page.locator('nav a[href="#requests"]').click();
  await kari.page.locator(".contacts li.done").waitFor();
  const tools = await kari.page.locator(".contacts button").count();
  await kari.page.locator('nav a[href="#sign-ins"]').click();
  await kari.page.locator("tbody tr").first().waitFor();
  const ends = await kari.page.locator("tbody button").count();

  // Ingrid ends Bob's sign-in, and he is out without a click: his open chat asks for new lines.
  await open(bob);
  await ingrid.page.locator('nav a[href="#sign-ins"]').click();
  const row = ingrid.page.locator("tbody tr", { hasText: "Bob" });
  await row.waitFor();
  const rows = await ingrid.page.locator("tbody tr").allInnerTexts();
  wrong.push(...(await ingrid.violations()));
  await row.getByRole("button", { name: "End" }).click();
  wrong.push(...(await ingrid.violations()));
  await row.locator("dialog[open] .danger").click();
  await row.waitFor({ state: "detached" });
  await bob.page.locator(".entrance").waitFor();
  await ingrid.page.getByRole("button", { name: "Lock" }).click();
  await ingrid.page.locator(".entrance").waitFor();
  const errors = [...ingrid.errors, ...kari.errors];
  return { names, written, held, controls, buttons, tools, ends, rows, wrong, errors };
}
