// A visitor in a real Chromium whose browser offers WebMCP. Returns what the page's tools are and answer,
// what a chat does with a tool that the page has registered, and what is left without the widget.

import { launchChromium } from "../../widget/tests/chromium.mjs";

const html = (url, attribute) => `<!doctype html><html lang="en"><title>A shop</title>
<link rel="icon" href="data:,"><output>0</output>
<script>
  document.modelContext?.registerTool({
    name: "add_to_cart",
    description: "Put the shown shirt into the cart.",
    inputSchema: {
      type: "object",
      properties: { size: { enum: ["S", "M", "L"], type: "string" } },
      required: ["size"],
    },
    execute: async ({ size }) => {
      const cart = document.querySelector("output");
      cart.value = Number(cart.value) + 1;
      return { size, items: Number(cart.value) };
    },
  });
  // Too large to be described with each question.
  const many = Array.from({ length: 21 }, (_, at) => ["p" + at, { type: "boolean" }]);
  document.modelContext?.registerTool({
    name: "configure",
    description: "Everything.".repeat(200),
    inputSchema: { type: "object", properties: Object.fromEntries(many) },
    execute: async () => "never",
  });
</script>
<script src="${url}/chat-widget.js" data-api-url="${url}/api/chat" ${attribute} defer></script>`;

/** The tools of the page, as an assistant of the browser finds them. */
const toolsOf = (page) =>
  page.evaluate(async () =>
    (await document.modelContext.getTools()).map(({ name, title, inputSchema, annotations }) => ({
      name,
      title,
      fields: Object.keys(inputSchema.properties),
      isRead: annotations?.readOnlyHint ?? false,
    })),
  );

const called = (page, name, input) =>
  page.evaluate(
    async ([name, input]) => {
      const tools = await document.modelContext.getTools();
      const tool = tools.find((one) => one.name === name);
      return document.modelContext.executeTool(tool, input);
    },
    [name, input],
  );

async function left(page, count) {
  while ((await toolsOf(page)).length !== count) await page.waitForTimeout(50);
}

export default async function visit(_browser, url) {
  const browser = await launchChromium("--enable-blink-features=WebMCP");
  const context = await browser.newContext({ locale: "en-US" });
  const page = await context.newPage();
  const errors = [];
  try {
    page.setDefaultTimeout(20_000);
    page.on("pageerror", (error) => errors.push(`${error}`));
    for (const attribute of ["", 'data-webmcp="on"']) {
      await context.route(`${url}/shop?${attribute.length}`, (route) =>
        route.fulfill({ body: html(url, attribute), contentType: "text/html" }),
      );
    }
    await page.goto(`${url}/shop?0`);
    if (!(await page.evaluate(() => "modelContext" in document))) return { has: false };
    await page.evaluate(() => ChatWidget.open());
    await page.locator("kefu-chat .panel").waitFor();
    await page.waitForTimeout(300);
    const without = (await toolsOf(page)).map(({ name }) => name);
    await page.goto(`${url}/shop?16`);
    // Before the visitor shows any interest.
    await left(page, 4);
    const tools = await toolsOf(page);
    const found = await called(page, "search_pages", { query: "parcels to Norway" });
    const wrong = await called(page, "read_page", { page: "nowhere" });
    await page.evaluate(() => ChatWidget.open());
    await page.locator("textarea").fill("Put one in M into the cart");
    await page.locator("textarea").press("Enter");
    const card = page.locator("kefu-chat .approval");
    await card.locator(".yes").waitFor();
    const before = await page.locator("output").textContent();
    await card.locator(".yes").click();
    await card.and(page.locator("[data-state=done]")).waitFor();
    await page.locator(".answer").last().filter({ hasText: /\S/ }).waitFor();
    const cart = [before, await page.locator("output").textContent()];
    const answer = await page.locator(".answer").last().textContent();
    // As a single-page app removes the widget.
    await page.evaluate(() => ChatWidget.destroy());
    await left(page, 2);
    return { has: true, without, tools, found, wrong, cart, answer, errors };
  } finally {
    await browser.close();
  }
}
