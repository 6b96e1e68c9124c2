// A newcomer without a key asks for an order on the demo page, cancels it, and clicks on the card.

export default async function visit(browser, address, locale) {
  const errors = [];
  const context = await browser.newContext({ locale });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(address);
  const chat = page.locator("kefu-chat");
  await chat.locator(".suggestions button", { hasText: "1001" }).first().click();
  await chat.locator(".turn .actions").first().waitFor();
  const box = chat.locator("textarea");
  await box.fill(locale === "zh-CN" ? "取消" : "Cancel it");
  await box.press("Enter");
  const card = chat.locator(".approval");
  await card.locator(".yes:not([aria-disabled])").waitFor();
  const text = await card.innerText();
  await card.locator(".yes").click();
  await chat.locator('.approval[data-state="done"]').waitFor();
  await chat.locator(".turn").nth(2).locator(".actions").first().waitFor();
  const answer = await chat.locator(".log").innerText();
  await context.close();
  return { card: text, answer, errors };
}
