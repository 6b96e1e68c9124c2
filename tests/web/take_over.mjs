// A visitor and an operator in a real Chromium: a chat is taken over and handed back. Returns
// what both saw. With SHOTS=folder it also takes pictures.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { openPanel } from "./operator.mjs";

const require = createRequire(new URL("../../widget/package.json", import.meta.url));
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");
const html = (service, lang, theme) => `<!doctype html><html lang="${lang}"><title>A shop</title>
<link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width">
<style>p,bdi,span,i{border:9px dotted red!important;font:30px serif!important;float:right}</style>
<main><h1>A shop</h1></main>
<script src="/chat-widget.js" data-api-url="${service}/api/chat" data-contact data-theme="${theme}"
data-lang="${lang}" data-title="Nordlys" data-persist="local" defer></script>`;

/** `theme`: light or dark; `device`: desktop or phone. */
export default async function visit(browser, ...given) {
  const seen = { errors: [], wrong: [] };
  try {
    await takeOver(browser, seen, ...given);
  } catch (error) {
    throw new Error(`${error} ${JSON.stringify(seen)}`);
  }
  return seen;
}

async function takeOver(browser, seen, service, token, lang, theme, device) {
  const NAME = lang === "ar" ? "إنغريد" : "Ingrid";
  const PERSON = lang === "ar" ? "التحدث إلى شخص" : "Talk to a person";
  const SAID = lang === "ar" ? "مرحبًا! نعم، نشحن إلى سفالبارد." : "Hello! Yes, we ship to Svalbard.";
  // Long, so that the log scrolls.
  const LINE = Array(30).fill(SAID).join(" ");

  const watched = (page) => {
    page.on("console", (message) => {
      if (message.type() === "error") seen.errors.push(message.text());
    });
    page.on("pageerror", (error) => seen.errors.push(String(error)));
    return page;
  };
  const viewport = device === "phone" ? { width: 390, height: 844 } : { width: 560, height: 780 };
  const visitors = await browser.newContext({ locale: "en-US", viewport, hasTouch: device === "phone" });
  const shop = { body: html(service, lang, theme), contentType: "text/html" };
  const arrive = async () => {
    const page = watched(await visitors.newPage());
    await page.route("**/shop", (route) => route.fulfill(shop));
    await page.goto(`${service}/shop`);
    return page;
  };
  const page = await arrive();
  const shoot = (target, name) =>
    process.env.SHOTS &&
    target.screenshot({ path: `${process.env.SHOTS}/${lang}-${theme}-${device}-${name}.png` });
  const inWidget = async () => {
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run("kefu-chat"));
    seen.wrong.push(...found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`));
  };
  const chat = page.locator("kefu-chat");
  const log = chat.locator(".log");
  const send = async (text) => {
    await chat.locator(".composer textarea").fill(text);
    await chat.locator(".composer textarea").press("Enter");
  };
  const ask = async (text) => {
    await send(text);
    await log.locator(".turn", { hasText: text }).locator(".actions:not([hidden])").waitFor();
  };
  const heading = () => chat.locator(".line:visible").innerText();

  await chat.locator(".launcher").click();
  await ask("Svalbard?");
  await chat.locator("[aria-haspopup=menu]").click();
  await chat.locator("[role=menuitem]", { hasText: PERSON }).click();
  await chat.locator(".contact input[type=email]").fill("kari@example.no");
  await chat.locator(".contact textarea").fill("Svalbard?");
  await chat.locator(".check input").check();
  await chat.locator(".submit").click();
  await chat.locator(".talks .line.talk").waitFor();
  seen.waiting = await heading();
  await shoot(page, "waiting");

  // The operator finds the chat by its state, and takes it over.
  const size = { width: 1360, height: 900 };
  const operator = await openPanel(browser, { service, token, theme, viewport: size });
  const { page: panel } = operator;
  const inPanel = async () => seen.wrong.push(...(await operator.violations()));
  await panel.locator(".rows a").first().waitFor();
  await panel.locator("select[name=only]").selectOption("waiting");
  await panel.locator(".rows .status.waiting").waitFor();
  await panel.locator(".rows a").first().click();
  const bar = panel.locator(".talk");
  await bar.locator("input[name=operator]").waitFor();
  seen.waits = await bar.locator("[role=status]").first().innerText();
  await bar.getByText("The visitor's page is open.").waitFor();
  await bar.scrollIntoViewIfNeeded();
  await inPanel();
  await shoot(panel, "panel-waiting");
  await bar.locator("input[name=operator]").fill(NAME);
  await bar.locator("button[type=submit]").click();
  await bar.locator("textarea").waitFor();

  // Another operator, in a tab of their own, cannot write until they take the chat.
  const tab = await panel.context().newPage();
  await tab.route("**/favicon.ico", (route) => route.fulfill({ body: "" }));
  await tab.goto(`${service}/admin`);
  await tab.locator("input[name=token]").fill(token);
  await tab.locator(".entrance button").click();
  await tab.locator(".rows a").first().click();
  const theirs = tab.locator(".talk");
  await theirs.locator("input[name=operator]").fill("Bob");
  seen.held = [await theirs.innerText(), await theirs.locator("textarea").count()];
  await bar.locator("textarea").fill("draft");
  // The first operator's panel does not hear of it before they write.
  const held = [];
  const hold = (route) =>
    route.request().method() === "GET" ? held.push(route) : route.continue();
  await panel.route("**/admin/api/**", hold);
  await theirs.locator("button[type=submit]").click();
  await theirs.locator("textarea").waitFor();
  // The first operator is refused, and takes it back. The text is still there.
  await bar.locator("textarea").press("Enter");
  await bar.locator("[role=alert]").waitFor();
  seen.refused = await bar.locator("[role=alert]").innerText();
  await panel.unroute("**/admin/api/**", hold);
  for (const route of held) await route.continue();
  await bar.locator("input[name=operator]").waitFor();
  await bar.locator("button[type=submit]").click();
  seen.draft = await bar.locator("textarea").inputValue();
  await tab.close();
  await panel.reload();
  seen.reloaded = await bar.locator("textarea").inputValue();

  // The line is in the open widget.
  await log.locator(".joined", { hasText: NAME }).waitFor();
  await bar.locator("textarea").fill(LINE);
  await bar.locator("textarea").press("Enter");
  await panel.locator(".bubble", { hasText: LINE }).waitFor();
  await log.locator(".answer", { hasText: LINE }).waitFor();
  const isStored = (line) => Object.values(sessionStorage).includes(line);
  seen.unsent = await panel.evaluate(isStored, LINE);
  seen.heading = await heading();
  seen.by = await log.locator(".by").allInnerTexts();
  seen.footer = await chat.locator(".disclaimer").innerText();
  seen.spoken = await chat.locator("[role=status]").innerText();
  seen.badge = await chat.locator(".launcher.unread").count();
  await inWidget();
  await shoot(page, "line");

  // The model is quiet; the visitor's message is in the panel.
  await send("How much?");
  await panel.locator(".bubble.user", { hasText: "How much?" }).waitFor();
  await bar.locator("textarea").fill("> 49 kroner: https://shop.example/prices");
  await bar.locator("button[type=submit]").click();
  await log.locator(".answer", { hasText: "49 kroner" }).waitFor();
  seen.quiet = await log.locator(".turn", { hasText: "How much?" }).locator(".answer").innerText();
  await shoot(page, "talk");
  await inPanel();
  await shoot(panel, "panel-talk");
  seen.link = await panel.locator(".person .link").evaluate((link) => {
    const bubble = getComputedStyle(link.closest(".text"));
    return [getComputedStyle(link).color === bubble.color, bubble.color !== bubble.backgroundColor];
  });

  // After a reload the newest line is in sight, although the names come above the lines.
  await page.reload();
  if (device === "phone") await chat.locator(".launcher").click();
  await log.locator(".by").last().waitFor({ state: "attached" });
  seen.gap = await log.evaluate((all) => all.scrollHeight - all.scrollTop - all.clientHeight);

  // A closed page: the line waits as a badge.
  await chat.locator(".close").click();
  await page.close();
  await bar.locator("textarea").fill("Anything else?");
  await bar.locator("button[type=submit]").click();
  await panel.locator(".bubble", { hasText: "Anything else?" }).waitFor();
  const next = await arrive();
  const again = next.locator("kefu-chat");
  // The name comes with the file of the talk, after the number.
  await again.locator(`.launcher.unread[aria-label*="${NAME}"]`).waitFor();
  seen.label = await again.locator(".launcher").getAttribute("aria-label");
  await shoot(next, "badge");
  await again.locator(".launcher").click();
  await again.locator(".answer", { hasText: "Anything else?" }).waitFor();
  seen.lines = await again.locator(".turn:has(.by) .answer").allInnerTexts();
  await again.locator(".talks .line.talk").waitFor();

  // Handed back: the model answers.
  await bar.locator(".tools button").first().click();
  await bar.locator("input[name=operator]").waitFor();
  await again.locator(".joined").last().waitFor();
  await again.locator(".panel:not(.talks)").waitFor();
  seen.left = await again.locator(".joined").last().innerText();
  await again.locator(".composer textarea").fill("Thank you!");
  await again.locator(".composer textarea").press("Enter");
  await again
    .locator(".turn", { hasText: "Thank you!" })
    .locator(".actions:not([hidden])")
    .waitFor();
  seen.last = await again.locator(".turn .answer").last().innerText();
  seen.order = await again.locator(".turn").allInnerTexts();
  await shoot(next, "back");
  // The refusal is a line of the console, too.
  seen.errors.push(...operator.errors.filter((one) => !one.includes("409")));
}
