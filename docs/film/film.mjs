// Films a chat with the sample shop: `node film.mjs SERVICE TOKEN FOLDER`. Writes numbered pictures,
// and frames.json with the milliseconds that each is shown. docs/film/make.py runs it.

import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { newOperator } from "../../tests/web/operator.mjs";

const require = createRequire(new URL("../../widget/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const [service, token, folder, executablePath] = process.argv.slice(2);

const CHANGE = 90; // what is shown of a picture that another follows at once
const frames = [];
let last = "";

/** Films until `done`, then shows the last picture for `hold` ms. Equal pictures are one. */
async function film(page, done, hold) {
  let ended = false;
  const until = Promise.resolve(done).finally(() => {
    ended = true;
  });
  do {
    await shoot(page);
  } while (!ended);
  await until;
  await page.waitForTimeout(500); // styles that move
  await shoot(page);
  frames.at(-1).ms = hold;
}

async function shoot(page) {
  const picture = await page.screenshot({ caret: "initial" });
  const content = picture.toString("base64");
  if (content === last) return;
  last = content;
  const name = `${String(frames.length).padStart(4, "0")}.png`;
  frames.push({ name, ms: CHANGE });
  await writeFile(`${folder}/${name}`, picture);
}

/** The sample shop, with a way to a person. */
async function openShop(browser) {
  const context = await browser.newContext({
    locale: "en-US",
    viewport: { width: 800, height: 660 },
    colorScheme: "light",
  });
  const page = await context.newPage();
  await page.route("**/sample/index.html", async (route) => {
    const response = await route.fetch();
    const html = (await response.text()).replace(/data-suggestions="[^"]*"/, "data-contact");
    await route.fulfill({ response, body: html });
  });
  await page.goto(`${service}/sample/index.html`);
  return page;
}

/** Takes the waiting chat over in the panel, and returns a function that writes a line. */
async function takeOver(browser, name) {
  const { page } = await newOperator(browser, { viewport: { width: 1280, height: 800 } });
  await page.goto(`${service}/admin`);
  await page.locator("input[name=token]").fill(token);
  await page.locator(".entrance button").click();
  await page.locator(".rows a").first().click();
  const bar = page.locator(".talk");
  await bar.locator("input[name=operator]").fill(name);
  await bar.locator("button[type=submit]").click();
  await bar.locator("textarea").waitFor();
  return async (line) => {
    await bar.locator("textarea").fill(line);
    await bar.locator("textarea").press("Enter");
  };
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await openShop(browser);
const chat = page.locator("kefu-chat");
const box = chat.locator(".composer textarea");
const turn = (text) => chat.locator(".turn", { hasText: text });
const ask = async (text) => {
  await box.pressSequentially(text, { delay: 30 });
  await box.press("Enter");
};
const answered = async (text) => {
  await ask(text);
  await turn(text).locator(".actions:not([hidden])").waitFor();
};

await film(page, page.waitForTimeout(300), 800);
await film(page, chat.locator(".launcher").click(), 500);
await film(page, answered("Who pays the customs?"), 2600);
await film(page, answered("Where is my order 1001?"), 2200);
const approve = async () => {
  await ask("Cancel it");
  await chat.locator(".approval .yes:not([aria-disabled])").waitFor();
};
await film(page, approve(), 1800);
const approved = async () => {
  await chat.locator(".approval .yes").click();
  await chat.locator('.approval[data-state="done"]').waitFor();
  await turn("Cancel it").locator(".actions:not([hidden])").waitFor();
};
await film(page, approved(), 2000);
const wantsPerson = async () => {
  await chat.locator("[aria-haspopup=menu]").click();
  await chat.locator("[role=menuitem]", { hasText: "Talk to a person" }).click();
  await chat.locator(".contact input[type=email]").pressSequentially("kari@example.no", { delay: 20 });
  await chat.locator(".contact textarea").fill(""); // the widget puts the last question there
  await chat.locator(".contact textarea").pressSequentially("Please call me.", { delay: 20 });
  await chat.locator(".check input").check();
};
await film(page, wantsPerson(), 900);
const sent = async () => {
  await chat.locator(".submit").click();
  await chat.locator(".talks .line.talk").waitFor();
};
await film(page, sent(), 900);
const write = await takeOver(browser, "Ingrid");
const line = "Hi Kari, Ingrid here. Your money is on its way back. Shall I call at four?";
const personAnswers = async () => {
  await write(line);
  await chat.locator(".answer", { hasText: line }).waitFor();
};
await film(page, personAnswers(), 3500);
await writeFile(`${folder}/frames.json`, JSON.stringify(frames));
await browser.close();
