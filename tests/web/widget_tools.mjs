// Visitors of a shop in a real Chromium whose chat uses tools: each has a browser context of their own.
// Returns what the widget shows to each. With SHOTS=folder it also takes pictures.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { connect, createServer } from "node:net";
import { join } from "node:path";

const require = createRequire(new URL("../../widget/package.json", import.meta.url));
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");

const AT_ONCE = 3;
/** Longer than the widget waits for the right moment to draw. */
const A_MOMENT_MS = 300;
const ELEVEN_MINUTES_MS = 660_000;

const html = (url, lang, more) => `<!doctype html><html lang="${lang}"><title>A shop</title>
<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width">
<script>window.ChatWidgetConfig = { userToken: () => /user=([^;]+)/.exec(document.cookie)?.[1] };</script>
<main><h1>A shop</h1></main>
<script src="/chat-widget.js" data-api-url="${url}/api/chat" data-lang="${lang}" data-persist="local"
${more} defer></script>`;

/** A line to the service. */
class Line {
  /** Text of the request whose answer is cut off, and the number of whole events that get through. */
  cut = { request: "", after: Number.POSITIVE_INFINITY };
  /** Whether that was done. */
  isCut = false;
  #sockets = new Set();

  static async to(service) {
    const line = new Line();
    const { hostname, port } = new URL(service);
    line.server = createServer((client) => line.#carry(client, connect(Number(port), hostname)));
    await new Promise((resolve) => line.server.listen(0, "127.0.0.1", resolve));
    line.url = `http://127.0.0.1:${line.server.address().port}`;
    return line;
  }

  close() {
    for (const socket of this.#sockets) socket.destroy();
    this.server.close();
  }

  #carry(client, away) {
    for (const [socket, other] of [[client, away], [away, client]]) {
      this.#sockets.add(socket);
      socket.on("error", () => {}).on("close", () => other.destroy());
    }
    let asked = "";
    let answered = "";
    client.on("data", (data) => {
      const text = data.toString("latin1");
      if (/^[A-Z]+ \//.test(text)) asked = answered = "";
      asked += text;
      away.write(data);
    });
    away.on("data", (data) => {
      const { request, after } = this.cut;
      if (this.isCut || !request || !asked.includes(request)) {
        client.write(data);
        return;
      }
      const before = answered.length;
      answered += data.toString("latin1");
      const end = endOf(answered, after);
      if (end < 0) {
        client.write(data);
        return;
      }
      this.isCut = true;
      client.write(data.subarray(0, Math.max(0, end - before)));
      away.pause();
      // A page that reads too late loses what was written, and has nothing to resume.
      setTimeout(() => client.destroy(), 500);
    });
  }
}

/** The length of the text up to the end of event `count`, 0 for none of the text; -1 if it is shorter. */
function endOf(text, count) {
  if (count === 0) return 0;
  let at = text.indexOf("\r\n\r\n");
  for (let found = 0; at >= 0 && found < count; ) {
    const end = text.indexOf("\n\n", at + 4);
    if (end < 0) return -1;
    // Comments are no events.
    if (text.slice(at, end).includes("data: ")) found += 1;
    at = end - 2;
  }
  return at < 0 ? -1 : at + 4;
}

class Visitor {
  errors = [];
  posts = 0;

  constructor(line, context, given) {
    this.line = line;
    this.context = context;
    this.given = given;
  }

  /** `given`: lang, device, theme, user, contact, storage, deaf. */
  static async arrives(browser, service, given) {
    const { lang = "en", device = "desktop", theme = "light", user, storage } = given;
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
    const context = await browser.newContext({
      locale: "en-US",
      colorScheme: theme,
      ...(device === "phone" ? phone : { viewport: { width: 560, height: 780 } }),
    });
    const line = await Line.to(service);
    const visitor = new Visitor(line, context, given);
    if (user) await context.addCookies([{ name: "user", value: user, url: line.url }]);
    if (storage) await visitor.#bring(JSON.parse(storage));
    const body = html(line.url, lang, `data-theme="${theme}" ${given.contact ? "data-contact" : ""}`);
    await context.route("**/shop", (route) => route.fulfill({ body, contentType: "text/html" }));
    // The service's copy of the chat does not arrive.
    if (given.deaf) await context.route("**/messages?*", (route) => route.abort());
    await visitor.opens();
    return visitor;
  }

  /** The stored chat of an earlier visit, over another line. */
  async #bring(record) {
    await this.context.addInitScript(
      ([key, value]) => localStorage.getItem(key) ?? localStorage.setItem(key, value),
      [record.key.replace(/http:\/\/127\.0\.0\.1:\d+/, this.line.url), record.value],
    );
  }

  /** Opens the page, in a new tab. */
  async opens() {
    this.page = await this.context.newPage();
    this.page.setDefaultTimeout(20_000);
    this.page.on("pageerror", (error) => this.errors.push(String(error)));
    this.page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (request.method() === "POST" && pathname === "/api/chat") this.posts += 1;
    });
    await this.page.goto(`${this.line.url}/shop`);
    await this.#open();
    return this.page;
  }

  async reloads() {
    await this.page.reload();
    await this.#open();
  }

  async #open() {
    await this.page.evaluate(() => window.ChatWidget.open());
    await this.chat.locator("textarea").first().waitFor();
  }

  get chat() {
    return this.page.locator("kefu-chat");
  }

  async send(text) {
    await this.chat.locator(".composer textarea").fill(text);
    await this.chat.locator(".composer textarea").press("Enter");
  }

  /** Sends a message, and waits for the end of the answer. */
  async ask(text) {
    const before = await this.chat.locator(".turn").count();
    await this.send(text);
    await this.chat.locator(".turn").nth(before).waitFor();
    await this.idle();
  }

  async idle() {
    await this.chat.locator(".turn > .dots").waitFor({ state: "detached" });
  }

  async asked(order) {
    await this.send(`Cancel order ${order}`);
    await this.yes.waitFor();
    await this.idle();
  }

  get yes() {
    return this.chat.locator(".yes:not([aria-disabled])");
  }

  get no() {
    return this.chat.locator(".no:not([aria-disabled])");
  }

  async is(state) {
    await this.chat.locator(`.approval[data-state="${state}"]`).last().waitFor();
  }

  /** What the visitor sees. */
  async sees() {
    await this.page.waitForTimeout(A_MOMENT_MS);
    return this.chat.locator(".log").evaluate((log) => {
      const shown = (selector, from = log) =>
        [...from.querySelectorAll(selector)].filter((one) => one.checkVisibility());
      const texts = (selector) => shown(selector).map((one) => one.innerText.trim());
      return {
        questions: shown(".question").map((one) => one.lastChild.textContent),
        answers: texts("div.answer"),
        cards: texts(".what"),
        states: shown(".approval").map((one) => one.dataset.state),
        feet: texts(".approval .foot"),
        steps: shown(".step, summary").map((one) => one.textContent),
        buttons: shown(".yes, .no").length,
        troubles: texts(".trouble"),
        turning: shown(".ring").filter((one) => one.getAnimations().length).length,
        waiting: shown(".dots").length,
      };
    });
  }

  /** The record of the chat in this browser. */
  async stored() {
    const kept = await this.page.evaluate(() => Object.entries(localStorage));
    const [key, value] = kept.find(([, value]) => value.includes("session"));
    return { key, value, session: JSON.parse(value).session.id };
  }

  async shoot(name) {
    const { lang = "en", theme = "light", device = "desktop" } = this.given;
    if (!process.env.SHOTS) return;
    const path = join(process.env.SHOTS, `${lang}-${theme}-${device}-${name}.png`);
    await this.page.screenshot({ path });
  }

  async violations() {
    await this.page.evaluate(axe);
    const found = await this.page.evaluate(() => globalThis.axe.run("kefu-chat"));
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
  }
}

/** Each takes the visitor, and returns what is to be told about the visit. */
const VISITS = {
  /** The whole way of one visitor, with pictures: question, card, click. */
  async story(visitor, { where, wish }) {
    await visitor.send(where);
    await visitor.chat.locator(".step").first().waitFor();
    const running = await visitor.sees();
    await visitor.shoot("1-running");
    await visitor.idle();
    const looked = await visitor.sees();
    await visitor.send(wish);
    await visitor.yes.waitFor();
    await visitor.idle();
    const asked = await visitor.sees();
    await visitor.shoot("2-asked");
    const wrong = await visitor.violations();
    const box = await visitor.yes.boundingBox();
    const card = await visitor.chat.locator(".approval").boundingBox();
    const isAtRight = box.x - card.x > card.x + card.width - (box.x + box.width);
    const overflow = await visitor.chat
      .locator(".log")
      .evaluate((log) => log.scrollWidth - log.clientWidth);
    await visitor.yes.click();
    await visitor.is("working");
    await visitor.shoot("3-working");
    await visitor.is("done");
    await visitor.idle();
    await visitor.shoot("4-done");
    wrong.push(...(await visitor.violations()));
    return { running, looked, asked, isAtRight, overflow, wrong, seen: await visitor.sees() };
  },

  async no(visitor, { order }) {
    await visitor.asked(order);
    await visitor.no.click();
    await visitor.is("declined");
    await visitor.idle();
    return twice(visitor);
  },

  async other(visitor, { order }) {
    await visitor.asked(order);
    await visitor.send("What does tea cost?");
    await visitor.is("declined");
    await visitor.idle();
    return twice(visitor);
  },

  /** Eleven minutes pass in the browser. */
  async late(visitor, { order }) {
    await visitor.page.clock.install();
    await visitor.reloads();
    await visitor.asked(order);
    await visitor.page.clock.fastForward(ELEVEN_MINUTES_MS);
    await visitor.is("expired");
    const seen = await visitor.sees();
    await visitor.ask("What does tea cost?");
    return { seen, after: await visitor.sees() };
  },

  async ask(visitor, { order }) {
    await visitor.asked(order);
    return { seen: await visitor.sees(), stored: await visitor.stored() };
  },

  /** The chat of an earlier visit, whose card has expired. */
  async expired(visitor) {
    await visitor.is("expired");
    return twice(visitor);
  },

  /** The same, clicked in a browser that does not know of it. */
  async tooLate(visitor) {
    await visitor.yes.click();
    await visitor.is("gone");
    await visitor.idle();
    return { seen: await visitor.sees(), wrong: await visitor.violations() };
  },

  async clicked(visitor, { order, state }) {
    await visitor.asked(order);
    await visitor.yes.click();
    await visitor.is(state);
    await visitor.idle();
    return twice(visitor);
  },

  async waiting(visitor, { order }) {
    await visitor.asked(order);
    const told = await twice(visitor);
    // The card of a reloaded page works.
    await visitor.yes.click();
    await visitor.is("done");
    await visitor.idle();
    return { ...told, done: await visitor.sees() };
  },

  async running(visitor, { order }) {
    await visitor.send(`Where is order ${order}?`);
    await visitor.chat.locator(".step .ring").waitFor();
    await visitor.reloads();
    await visitor.chat.locator(".step .ring").waitFor();
    const again = await visitor.sees();
    await visitor.idle();
    await visitor.chat.locator(".actions").first().waitFor();
    return { again, ...(await twice(visitor)) };
  },

  async working(visitor, { order, state }) {
    await visitor.asked(order);
    await visitor.yes.click();
    await visitor.chat.locator(".step .ring").waitFor();
    await visitor.reloads();
    await visitor.is("working");
    const again = await visitor.sees();
    await visitor.is(state);
    await visitor.idle();
    return { again, ...(await twice(visitor)) };
  },

  /** The line is cut after event `after` of the answer that asks. */
  async cutAsking(visitor, { order, after }) {
    await visitor.ask("hello");
    visitor.line.cut = { request: `Please cancel order ${order}`, after };
    await visitor.send(`Please cancel order ${order}`);
    await taken(visitor, visitor.yes);
    const { isCut } = visitor.line;
    return { isCut, posts: visitor.posts, seen: await visitor.sees() };
  },

  /** The same for the answer to the click. */
  async cutClick(visitor, { order, after }) {
    await visitor.asked(order);
    visitor.line.cut = { request: '"approval":', after };
    await visitor.yes.click();
    await taken(visitor, visitor.chat.locator('.approval[data-state="done"]'));
    const { isCut } = visitor.line;
    return { isCut, posts: visitor.posts, seen: await visitor.sees() };
  },

  /** `clicks`: the names of the buttons in both tabs; `together`: at the same time. */
  async tabs(visitor, { order, clicks: [first, second], together }) {
    await visitor.asked(order);
    const one = visitor.page;
    const other = await visitor.opens();
    await visitor.yes.waitFor();
    const click = async (page, name) => {
      visitor.page = page;
      await visitor[name].click();
    };
    const done = async (page) => {
      visitor.page = page;
      await visitor.is("done");
      await visitor.idle();
    };
    await click(one, first);
    if (!together) await done(one);
    await click(other, second);
    await done(other);
    const theirs = await visitor.sees();
    await done(one);
    return { seen: await visitor.sees(), theirs };
  },

  /** In one tab the visitor writes another message, and clicks in the other one. */
  async stale(visitor, { order }) {
    await visitor.asked(order);
    const one = visitor.page;
    const other = await visitor.opens();
    await visitor.yes.waitFor();
    visitor.page = one;
    await visitor.ask("What does tea cost?");
    visitor.page = other;
    await visitor.yes.click();
    await visitor.is("gone");
    await visitor.idle();
    return { seen: await visitor.sees() };
  },

  /** A person takes over while the card waits. */
  async person(visitor, { order, token, service }) {
    await visitor.asked(order);
    const { session } = await visitor.stored();
    const answer = await fetch(`${service}/admin/api/sessions/${session}/state`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      body: JSON.stringify({ state: "person", operator: "Ingrid" }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    await visitor.yes.click();
    await visitor.is("gone");
    await visitor.idle();
    return twice(visitor, "expired");
  },

  async orders(visitor) {
    await visitor.ask("Which orders do I have?");
    return { seen: await visitor.sees() };
  },

  async form(visitor) {
    await visitor.ask("May I talk to a person?");
    await visitor.chat.locator(".person").click();
    const field = visitor.chat.locator(".contact textarea");
    await field.waitFor();
    await visitor.shoot("form");
    return { seen: await visitor.sees(), summary: await field.inputValue() };
  },
};

/**
 * What the visitor sees, and after a reload, and in a browser that has nothing but the session; there
 * the state of the card is `last`, if that is another one.
 */
async function twice(visitor, last) {
  const seen = await visitor.sees();
  await visitor.shoot(`${visitor.given.visit}-${seen.states.at(-1)}`);
  const settled = async () => {
    await visitor.idle();
    if (seen.states.length) await visitor.is(seen.states.at(-1));
    if (seen.steps.length) await visitor.chat.locator(".step").first().waitFor({ state: "attached" });
  };
  await visitor.reloads();
  await settled();
  const again = await visitor.sees();
  await visitor.page.evaluate(() => {
    for (const [name, value] of Object.entries(localStorage)) {
      if (value.includes("session"))
        localStorage.setItem(name, JSON.stringify({ ...JSON.parse(value), turns: [] }));
    }
  });
  await visitor.page.goto(`${visitor.line.url}/shop`);
  await visitor.page.evaluate(() => window.ChatWidget.open());
  await (last ? visitor.is(last) : settled());
  return { seen, reloaded: again, bare: await visitor.sees() };
}

/** Waits for the end of an answer that may need the visitor's Retry. */
async function taken(visitor, end) {
  const retry = visitor.chat.locator(".retry");
  await end.or(retry).first().waitFor();
  if (await retry.isVisible()) await retry.click();
  await end.waitFor();
  // Below a finished answer alone.
  await visitor.chat.locator(".turn:last-child > .actions").waitFor();
  await visitor.idle();
}

async function told(browser, service, given) {
  const visitor = await Visitor.arrives(browser, service, given);
  try {
    const seen = await VISITS[given.visit](visitor, { ...given, service });
    return { ...seen, errors: visitor.errors };
  } catch (error) {
    await visitor.shoot(`failed-${given.visit}`);
    const seen = await visitor.sees().catch(() => undefined);
    throw new Error(`${JSON.stringify(given)}: ${error} ${JSON.stringify(seen)}`);
  } finally {
    await visitor.context.close();
    visitor.line.close();
  }
}

/** `visits` is JSON: [{visit, …}, …], see VISITS and Visitor. Some visitors come at the same time. */
export default async function visit(browser, service, visits) {
  const seen = [];
  const left = JSON.parse(visits).entries();
  const some = Array.from({ length: AT_ONCE }, async () => {
    for (const [at, given] of left) seen[at] = await told(browser, service, given);
  });
  await Promise.all(some);
  return { seen };
}
