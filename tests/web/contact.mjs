// A visitor of a site in a real Chromium asks for a person, and fills in the form. Returns what
// the widget showed. With SHOTS=folder it also takes pictures.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const require = createRequire(new URL("../../widget/package.json", import.meta.url));
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");

// The site's own styles are loud, to show that they do not reach into the widget.
const html = (service, lang, theme) => `<!doctype html><html lang="${lang}"><title>A shop</title>
<link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width">
<style>input,button,form,label,textarea,h3,p{border:9px dotted red!important;font:30px serif!important;
text-transform:uppercase;float:right}</style><main><h1>A shop</h1></main>
<script src="/chat-widget.js" data-api-url="${service}/api/chat" data-contact data-theme="${theme}"
data-lang="${lang}" data-title="Nordlys" defer></script>`;

/** `theme`: light or dark; `device`: desktop or phone. */
export default async function visit(browser, service, lang, theme, device, question) {
  const viewport = device === "phone" ? { width: 390, height: 844 } : { width: 560, height: 780 };
  const page = await browser.newPage({ locale: "en-US", viewport, reducedMotion: "reduce" });
  const errors = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  const shop = { body: html(service, lang, theme), contentType: "text/html" };
  await page.route("**/shop", (route) => route.fulfill(shop));
  const shoot = (name) =>
    process.env.SHOTS &&
    page.screenshot({ path: `${process.env.SHOTS}/${lang}-${theme}-${device}-${name}.png` });
  const violations = async () => {
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run("kefu-chat"));
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
  };
  const chat = page.locator("kefu-chat");
  const ask = async (text) => {
    await chat.locator("textarea").last().fill(text);
    await chat.locator("textarea").last().press("Enter");
    await chat.locator(".turn", { hasText: text }).locator(".actions").waitFor();
  };

  await page.goto(`${service}/shop`);
  await chat.locator(".launcher").click();
  await ask("Svalbard?");
  const offeredAtOnce = await chat.locator(".person").count();
  await ask(question);
  await chat.locator(".person").waitFor();
  await shoot("offer");
  const inMenu = await chat.locator("[role=menuitem]").nth(1).textContent();
  const offer = await chat.locator(".person").innerText();
  const wrong = await violations();
  await chat.locator(".person").click();
  await chat.locator(".contact input[type=email]").waitFor();
  const focused = await page.evaluate(
    () => document.querySelector("kefu-chat").shadowRoot.activeElement.name,
  );
  await chat.locator(".contact input[type=email]").fill("kari@example.no");
  await chat.locator(".contact textarea").fill("Svalbard?");
  await chat.locator(".submit").click();
  // Without consent the browser keeps the form.
  const kept = await chat.locator(".contact").count();
  await chat.locator(".check input").check();
  await chat.locator(".submit").scrollIntoViewIfNeeded();
  await shoot("form");
  wrong.push(...(await violations()));
  const labels = await chat.locator(".contact").innerText();
  await chat.locator(".submit").click();
  await chat.locator(".sent").waitFor();
  await shoot("sent");
  wrong.push(...(await violations()));
  const sent = await chat.locator(".sent").innerText();
  return { offeredAtOnce, inMenu, offer, focused, kept, labels, sent, wrong, errors };
}
