// A visitor asks questions in a real Chromium, and opens the first source of the first answer.
// Returns what each turn showed, and which foreign addresses the browser asked for.

const html = (service) => `<!doctype html><html lang="en"><title>A shop</title>
<link rel="icon" href="data:,">
<script src="/chat-widget.js" data-api-url="${service}/api/chat" data-open defer></script>`;

export default async function visit(browser, service, ...questions) {
  const context = await browser.newContext({ locale: "en-US" });
  const page = await context.newPage();
  const foreign = [];
  context.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${service}/`) && !url.startsWith("data:")) foreign.push(url);
  });
  const shop = { body: html(service), contentType: "text/html" };
  await page.route("**/shop", (route) => route.fulfill(shop));
  await page.goto(`${service}/shop`);
  const chat = page.locator("kefu-chat");
  await chat.locator(".panel").waitFor();

  const turns = [];
  for (const question of questions) {
    await chat.locator("textarea").fill(question);
    await chat.locator("textarea").press("Enter");
    const turn = chat.locator(".turn").nth(turns.length);
    await turn.locator(".actions").waitFor();
    const answer = turn.locator("div.answer");
    const links = turn.locator("a");
    turns.push({
      text: await answer.innerText(),
      links: await links.evaluateAll((all) => all.map((one) => one.href)),
      sources: await turn.locator(".sources li").allInnerTexts(),
      elements: await answer.locator("img, iframe, script, form, svg, style").count(),
    });
  }
  const [opened] = await Promise.all([
    context.waitForEvent("page"),
    chat.locator(".turn").first().locator(".sources a").first().click(),
  ]);
  await opened.waitForLoadState();
  const first = { url: opened.url(), heading: await opened.locator("h1").innerText() };
  return { turns, opened: first, foreign };
}
