// A visitor in Chromium: opens the page and asks a question. Returns the visible answer.

export default async function visit(browser, address, question) {
  const page = await browser.newPage({ locale: "en-US" });
  const errors = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(address);
  const chat = page.locator("kefu-chat");
  await page.locator("#notice").waitFor();
  await chat.locator("textarea").fill(question);
  await chat.locator("textarea").press("Enter");

  const lengths = [];
  const deadline = Date.now() + 100_000;
  let button = "";
  do {
    await page.waitForTimeout(40);
    const length = (await chat.locator("div.answer").textContent()).length;
    if (length !== lengths.at(-1)) lengths.push(length);
    button = await chat.locator(".act").getAttribute("aria-label");
  } while (button !== "Send" && Date.now() < deadline);

  const text = await chat.locator("div.answer").textContent();
  // The last piece may have come after the last look.
  lengths.push(text.length);
  return {
    notice: await page.locator("#notice").textContent(),
    question: await chat.locator(".question").textContent(),
    lengths,
    text,
    button,
    trouble: await chat.locator(".trouble").allTextContents(),
    status: await chat.locator("[role=status]").textContent(),
    errors,
  };
}
