// Asks two questions in the widget, in a real Chromium. Usage: node widget_asks.mjs SERVICE

import { launchChromium } from "../../widget/tests/chromium.mjs";

const [, , service] = process.argv;

const html = `<!doctype html><html lang="en"><title>A shop</title><link rel="icon" href="data:,">
<script src="/chat-widget.js" data-api-url="${service}/api/chat" data-open defer></script>`;

const browser = await launchChromium();
try {
  const page = await browser.newPage({ locale: "en-US" });
  await page.route("**/shop", (route) => route.fulfill({ body: html, contentType: "text/html" }));
  await page.goto(`${service}/shop`);
  const chat = page.locator("kefu-chat");
  for (const question of ["Wann?", "Do you ship to Norway? 🎁"]) {
    await chat.locator("textarea").fill(question);
    await chat.locator("textarea").press("Enter");
    await chat.locator(".turn", { hasText: question }).locator(".actions").waitFor();
  }
  console.log("{}");
} finally {
  await browser.close();
}
