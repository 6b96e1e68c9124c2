// Three visitors and two operators in a real Chromium: somebody waits, is taken over twice, handed
// back, and the talk becomes an answer. Returns what they saw, and after how many milliseconds.

import { newOperator } from "./operator.mjs";

const QUESTION = "Do you deliver to Svalbard?";
const REQUEST = "It is for a birthday. Can somebody tell me?";

const html = (service, token) => `<!doctype html><html lang="en"><title>Help about delivery</title>
<link rel="icon" href="data:,">
<script>window.ChatWidgetConfig = { userToken: () => ${JSON.stringify(token)} };</script>
<script src="/chat-widget.js" data-api-url="${service}/api/chat" data-contact data-context="page"
data-title="Nordlys" data-persist="local" defer></script>`;

class Visitor {
  constructor(page) {
    this.page = page;
    this.chat = page.locator("kefu-chat");
    this.log = this.chat.locator(".log");
  }

  static async arrive(browser, service, token, errors) {
    const context = await browser.newContext({ locale: "en-US", viewport: { width: 560, height: 780 } });
    const page = await context.newPage();
    page.on("pageerror", (error) => errors.push(String(error)));
    const shop = { body: html(service, token), contentType: "text/html" };
    await page.route("**/help/delivery", (route) => route.fulfill(shop));
    await page.goto(`${service}/help/delivery`);
    const visitor = new Visitor(page);
    await visitor.chat.locator(".launcher").click();
    return visitor;
  }

  async send(text) {
    await this.chat.locator(".composer textarea").fill(text);
    await this.chat.locator(".composer textarea").press("Enter");
  }

  async ask(text) {
    await this.send(text);
    await this.log.locator(".turn", { hasText: text }).locator(".actions:not([hidden])").waitFor();
  }

  async askForPerson(text) {
    await this.chat.locator("[aria-haspopup=menu]").click();
    await this.chat.locator("[role=menuitem]", { hasText: "Talk to a person" }).click();
    await this.chat.locator(".contact input[type=email]").fill("kari@example.no");
    await this.chat.locator(".contact textarea").fill(text);
    await this.chat.locator(".check input").check();
    await this.chat.locator(".submit").click();
    await this.chat.locator(".talks .line.talk").waitFor();
  }
}

async function operatorAt(browser, link, errors) {
  const viewport = { width: 1360, height: 900 };
  const { page, errors: own, violations } = await newOperator(browser, { viewport, reducedMotion: "reduce" });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(link).origin });
  await page.route("**/favicon.ico", (route) => route.fulfill({ body: "" }));
  await page.goto(link);
  await page.locator("aside .rows").waitFor({ state: "attached" });
  return { page, violations, bar: page.locator(".talk"), errors: own, all: errors };
}

/** Milliseconds until the title of each of `pages` begins with `count`. */
async function told(pages, count) {
  const began = Date.now();
  const wait = (page) =>
    page.waitForFunction((wanted) => document.title.startsWith(wanted), count, { timeout: 30_000 });
  await Promise.all(pages.map(wait));
  return Date.now() - began;
}

/** `links`: of Ingrid and of Bob; `tokens`: of two signed-in visitors. */
export default async function visit(browser, service, links, tokens) {
  const seen = { wrong: [], errors: [] };
  try {
    await inbox(browser, seen, service, JSON.parse(links), JSON.parse(tokens));
  } catch (error) {
    throw new Error(`${error} ${JSON.stringify(seen)}`);
  }
  return seen;
}

async function inbox(browser, seen, service, links, [kariToken, olaToken]) {
  const shoot = (page, name) =>
    process.env.SHOTS && page.screenshot({ path: `${process.env.SHOTS}/inbox-${name}.png` });
  const [ingrid, bob] = await Promise.all(links.map((link) => operatorAt(browser, link, seen.errors)));
  const arrive = (token) => Visitor.arrive(browser, service, token, seen.errors);
  const [kari, ola, liv] = await Promise.all([kariToken, olaToken, ""].map(arrive));
  await liv.ask("How long is the warranty?");
  await ola.ask("How do I return it?");
  await kari.ask(QUESTION);

  // Somebody waits: title and number, in both panels.
  await kari.askForPerson(REQUEST);
  seen.told = [await told([ingrid.page, bob.page], "(1)")];
  await ola.askForPerson("Where is my parcel?");
  seen.told.push(await told([ingrid.page, bob.page], "(2)"));
  seen.nav = await ingrid.page.locator("nav").innerText();

  // From the title to the first line: one click, one key, the line.
  const began = Date.now();
  const row = ingrid.page.locator(".rows li", { hasText: QUESTION });
  await row.locator("a").click();
  await ingrid.bar.waitFor();
  seen.first = await ingrid.page.evaluate((wanted) => {
    const isSeen = (node) => {
      const { top, bottom } = node.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    };
    const asked = document.querySelector(".asked");
    const side = document.querySelector(".side");
    return [isSeen(asked) && asked.innerText, isSeen(side) && side.innerText];
  });
  seen.wrong.push(...(await ingrid.violations()));
  await shoot(ingrid.page, "waiting");
  await ingrid.page.keyboard.press("r");
  await ingrid.bar.locator("textarea:focus").waitFor();
  await ingrid.page.keyboard.type("Hello, Ingrid here.");
  await kari.chat.locator(".line", { hasText: "writing" }).first().waitFor();
  await ingrid.page.keyboard.press("Enter");
  await ingrid.page.locator(".bubble", { hasText: "Ingrid here" }).waitFor();
  seen.toFirstLine = Date.now() - began;
  await kari.log.locator(".answer", { hasText: "Ingrid here" }).waitFor();
  seen.reached = Date.now() - began;

  // The other operator cannot write, sees who has it, and takes it over.
  await bob.page.locator(".rows li", { hasText: "Ingrid here" }).locator("a").click();
  await bob.bar.waitFor();
  seen.held = [await bob.bar.innerText(), await bob.bar.locator("textarea").count()];
  await bob.bar.getByRole("button", { name: "Take over from" }).click();
  await bob.bar.locator("textarea").waitFor();
  await ingrid.bar.getByRole("button", { name: "Take over from" }).waitFor();
  seen.lost = [await ingrid.bar.innerText(), await ingrid.bar.locator("textarea").count()];
  await kari.send("Can it be here on Friday?");
  await bob.page.locator(".bubble", { hasText: "on Friday" }).waitFor();
  await bob.bar.locator("textarea").fill("Yes, to Longyearbyen in ten days.");
  await bob.bar.locator("textarea").press("Enter");
  await kari.log.locator(".answer", { hasText: "in ten days" }).waitFor();
  const lines = (page, selector) =>
    page.locator(selector).evaluateAll((nodes) => nodes.map((one) => one.textContent.trim()));
  seen.inWidget = await lines(kari.page, "kefu-chat .log :is(.question, .answer)");
  seen.inPanel = await lines(bob.page, ".turn .bubble .text");
  seen.wrong.push(...(await bob.violations()));
  await shoot(bob.page, "talk");
  seen.over = [];
  for (const [name, width, height] of [["phone", 390, 844], ["zoom", 340, 225]]) {
    await bob.page.setViewportSize({ width, height });
    await bob.page.emulateMedia({ colorScheme: name === "phone" ? "dark" : "light" });
    await bob.bar.scrollIntoViewIfNeeded();
    seen.wrong.push(...(await bob.violations()));
    seen.over.push(await bob.page.evaluate(() => document.documentElement.scrollWidth - innerWidth));
    await shoot(bob.page, name);
  }
  await bob.page.setViewportSize({ width: 1360, height: 900 });
  await bob.page.emulateMedia({ colorScheme: "dark" });
  seen.wrong.push(...(await bob.violations()));
  await shoot(bob.page, "dark");

  // A closed widget: the line waits as a badge.
  await kari.chat.locator(".close").click();
  await bob.bar.locator("textarea").fill("Anything else?");
  await bob.bar.locator("textarea").press("Enter");
  const closed = Date.now();
  await kari.chat.locator(".launcher.unread").waitFor();
  seen.badge = Date.now() - closed;

  // Handed back: the model knows the talk.
  await kari.chat.locator(".launcher").click();
  await bob.bar.getByRole("button", { name: "Hand back" }).click();
  await bob.bar.getByRole("button", { name: "Take over" }).waitFor();
  await kari.chat.locator(".panel:not(.talks)").waitFor();
  await kari.ask("Thank you!");

  // The talk becomes an answer of all.
  await bob.page.locator(".side").getByRole("button", { name: "Write the answer" }).click();
  const dialog = bob.page.locator(".writing");
  await dialog.locator(".published").waitFor();
  seen.draft = await dialog.locator(".published").innerText();
  await dialog.getByRole("button", { name: "Change" }).click();
  await dialog.locator("textarea").first().fill(QUESTION);
  await dialog.locator("textarea").last().fill("Yes, to Longyearbyen in ten days.");
  await dialog.locator(".accent").click();
  await dialog.getByRole("button", { name: "Publish" }).click();
  await bob.page.getByRole("button", { name: "Copy as test case" }).click();
  await bob.page.getByRole("button", { name: "Copied" }).waitFor();
  seen.case = await bob.page.evaluate(() => navigator.clipboard.readText());
  await liv.ask(QUESTION);
  seen.next = await liv.log.locator(".answer").last().innerText();
  seen.errors.push(...ingrid.errors, ...bob.errors);
}
