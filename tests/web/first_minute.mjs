// A newcomer without a key opens a page, and asks each suggested question in a fresh chat.

export default async function visit(browser, address, locale) {
  const asked = [];
  const errors = [];
  let count = 1;
  for (let number = 0; number < count; number += 1) {
    const context = await browser.newContext({ locale });
    const page = await context.newPage();
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(address);
    const chat = page.locator("kefu-chat");
    // The demo page opens the chat by itself.
    if (new URL(address).pathname !== "/") await chat.locator(".launcher").click();
    const suggestions = chat.locator(".suggestions button");
    await suggestions.first().waitFor();
    count = await suggestions.count();
    const question = await suggestions.nth(number).innerText();
    await suggestions.nth(number).click();
    await chat.locator(".turn .actions").first().waitFor();
    const turn = chat.locator(".turn").first();
    asked.push({
      question,
      answer: await turn.locator("div.answer").innerText(),
      sources: await turn.locator(".sources li").allInnerTexts(),
    });
    await context.close();
  }
  return { asked, errors };
}
