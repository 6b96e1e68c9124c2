// A visitor of a shop in a real Chromium whose page carries out calls of the chat. Returns what the
// cart has and what the widget shows, after each click.

const html = (url) => `<!doctype html><html lang="en"><title>A shop</title>
<link rel="icon" href="data:,"><h1>A shirt</h1><output>0</output>
<script src="${url}/chat-widget.js" data-api-url="${url}/api/chat" data-persist="local" defer></script>
<script>
  addEventListener("DOMContentLoaded", () => ChatWidget.tools({
    add_to_cart: {
      description: "Put the shown shirt into the cart.",
      parameters: { size: { type: "string", enum: ["S", "M", "L"] } },
      approve: "Put the shirt in {size} into the cart?",
      run: async ({ size }) => {
        const cart = document.querySelector("output");
        cart.value = Number(cart.value) + 1;
        await new Promise((done) => setTimeout(done, 200));
        if (size === "L") throw new Error("sold out");
        return { size, items: Number(cart.value) };
      },
    },
  }));
</script>`;

export default async function visit(browser, url) {
  const context = await browser.newContext({ locale: "en-US" });
  const errors = [];
  await context.route(`${url}/shop`, (route) =>
    route.fulfill({ body: html(url), contentType: "text/html" }),
  );
  const opened = async () => {
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    page.on("pageerror", (error) => errors.push(`${error}`));
    await page.goto(`${url}/shop`);
    await page.evaluate(() => ChatWidget.open());
    return page;
  };
  const ask = async (page, text) => {
    await page.locator("textarea").fill(text);
    await page.locator("textarea").press("Enter");
  };
  const card = (page) => page.locator("kefu-chat .approval").last();
  const ended = async (page, state) => {
    await card(page).and(page.locator(`[data-state=${state}]`)).waitFor();
    await page.locator(".answer").last().filter({ hasText: /\S/ }).waitFor();
    return [
      await page.locator("output").textContent(),
      await page.locator(".answer").last().textContent(),
    ];
  };
  const page = await opened();
  await ask(page, "Cancel M");
  await card(page).locator(".yes").waitFor();
  // Another tab has the same card, and comes second.
  const other = await opened();
  await card(other).locator(".yes").waitFor();
  const asked = await card(page).locator(".what").textContent();
  await card(page).locator(".yes").click();
  const done = await ended(page, "done");
  await card(other).locator(".yes").click();
  const second = await ended(other, "done");
  await other.close();
  await ask(page, "Cancel L");
  await card(page).locator(".yes").waitFor();
  await card(page).locator(".yes").click();
  const unsure = await ended(page, "unsure");
  await context.close();
  return { asked, done, second, unsure, errors };
}
