// An operator makes a talk known to all visitors in a real Chromium. Returns what the panel showed.

import { openPanel } from "./operator.mjs";

/** `session`: a chat in which a person wrote; `other`: one whose question was not answered. */
export default async function visit(browser, service, token, session, other, theme) {
  const viewport = { width: 1360, height: 900 };
  const opened = await openPanel(browser, { service, token, theme, viewport });
  const { page, errors, violations } = opened;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: service });
  await page.locator(".rows a").first().waitFor();
  const wrong = [];
  const shoot = (name) =>
    process.env.SHOTS && page.screenshot({ path: `${process.env.SHOTS}/answers-${theme}-${name}.png` });
  const chat = async (id) => {
    await page.goto(`${service}/admin#s=${id}`);
    await page.locator(`.content a[href="#s=${id}"], .content code`, { hasText: id }).waitFor();
  };
  const dialog = page.locator(".writing");
  const publish = dialog.locator(".accent");

  await chat(session);
  const side = page.locator(".side");
  await side.getByRole("button", { name: "Write the answer" }).click();
  await dialog.locator(".published").waitFor();
  const preview = await dialog.locator(".published").innerText();
  const marked = await dialog.locator("mark").allInnerTexts();
  const warned = await publish.innerText();
  wrong.push(...(await violations()));
  await shoot("preview");
  await dialog.getByRole("button", { name: "Change" }).click();
  const fields = dialog.locator("textarea");
  await fields.first().fill("Do you deliver to Svalbard?");
  await fields.last().fill("x".repeat(8_001));
  await publish.click();
  const refused = await fields.last().evaluate((node) => [node.value.length, node.validationMessage]);
  await fields.last().fill("Yes, to **Longyearbyen**.");
  wrong.push(...(await violations()));
  await publish.click();
  await dialog.locator(".published").waitFor();
  const bold = await dialog.locator(".published b, .published strong").allInnerTexts();
  const calm = [await dialog.locator("mark").count(), await publish.innerText()];
  await publish.click();
  await side.locator(".made li").waitFor();
  const made = await side.locator(".made li").innerText();
  await side.getByRole("button", { name: "Copy as test case" }).click();
  await side.getByRole("button", { name: "Copied" }).waitFor();
  const line = await page.evaluate(() => navigator.clipboard.readText());
  wrong.push(...(await violations()));
  await shoot("made");

  // From a question that the pages did not answer, and that nobody has answered yet.
  await chat(other);
  const hint = await page.locator(".offer").innerText();
  await page.locator(".turn").getByRole("button", { name: "Write the answer" }).click();
  await dialog.locator("textarea").last().waitFor();
  const asked = await fields.first().inputValue();
  const isFocused = await fields.last().evaluate((node) => node === document.activeElement);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  // What was typed is kept until the button gives it up.
  await page.locator(".turn").getByRole("button", { name: "Write the answer" }).click();
  await fields.last().pressSequentially("Typed");
  for (let times = 0; times < 3; times += 1) await page.keyboard.press("Escape");
  const typed = (await dialog.isVisible()) && (await fields.last().inputValue());
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "hidden" });

  // The next look at the chat has the answer, too; withdrawing it asks first.
  await chat(session);
  await side.locator(".made li").waitFor();
  await side.getByRole("button", { name: "Withdraw" }).click();
  await side.locator("dialog[open] .danger").click();
  await side.locator(".made li").waitFor({ state: "detached" });
  return { preview, marked, warned, refused, bold, calm, made, line, hint, asked, isFocused, typed, wrong, errors };
}
