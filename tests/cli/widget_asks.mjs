// Asks two questions in the widget, in a real Chromium.

const html = (service) => `<!doctype html><html lang="en"><title>A shop</title>
<link rel="icon" href="data:,">
<script src="/chat-widget.js" data-api-url="${service}/api/chat" data-open defer></script>`;

export default async function visit(browser, service) {
  const page = await browser.newPage({ locale: "en-US" });
  const shop = { body: html(service), contentType: "text/html" };
  await page.route("**/shop", (route) => route.fulfill(shop));
  await page.goto(`${service}/shop`);
  const chat = page.locator("kefu-chat");
  for (const question of ["Wann?", "Do you ship to Norway? 🎁"]) {
    await chat.locator("textarea").fill(question);
    await chat.locator("textarea").press("Enter");
    await chat.locator(".turn", { hasText: question }).locator(".actions").waitFor();
  }
  return {};
}
