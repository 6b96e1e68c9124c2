/**
 * The Web Vitals of a page without the widget, with it, and with an open chat in which an answer arrives: the
 * longest interaction with the page (INP) and how much its layout shifts (CLS), in Chromium with a quarter of
 * the processor. Prints one JSON object of medians; needs a built widget, by default this one.
 *
 *   node bench/vitals.mjs [--quick] [FOLDER]
 */

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launchChromium } from "../tests/chromium.mjs";
import { OURS, stream } from "./answer.mjs";
import { median, report } from "./report.mjs";
import { sendPage, siteOf, tagOf } from "./site.mjs";

const folder = process.argv.slice(2).find((argument) => !argument.startsWith("--"));
const WIDGET = folder && pathToFileURL(`${resolve(folder)}/`);
const VISITS = process.argv.includes("--quick") ? 1 : 5;
const SLOWER = 4;
const CLICKS = 20;
const CHUNKS_PER_SECOND = 100;
const ANSWER_SECONDS = 10;

const PARAGRAPHS = `<p>${"A page of a shop has a few hundred words. ".repeat(12)}</p>`.repeat(12);

/** Notes the duration of each interaction, and each shift that no visitor has caused. */
function watched() {
  const seen = { interactions: [0], shift: 0 };
  const observe = (type, note, options) =>
    new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({
      type,
      buffered: true,
      ...options,
    });
  const interaction = ({ interactionId, duration }) => {
    if (interactionId) seen.interactions.push(duration);
  };
  observe("event", interaction, { durationThreshold: 16 });
  observe("layout-shift", ({ hadRecentInput, value }) => {
    if (!hadRecentInput) seen.shift += value;
  });
  return seen;
}

const HEAD = `<script>const seen = (${watched})()</script>`;
const BODY = `<button onclick="this.nextElementSibling.textContent = +this.nextElementSibling.textContent + 1">Add</button>
<output>0</output>${PARAGRAPHS}`;

const answer = ({ method, url }, response) => {
  if (method === "POST") {
    stream(response, OURS, ANSWER_SECONDS * CHUNKS_PER_SECOND, CHUNKS_PER_SECOND);
  } else sendPage(response, url === "/with" ? BODY + tagOf() : BODY, HEAD);
};
const site = await siteOf(answer, { widget: WIDGET });

const browser = await launchChromium();

/** The figures of one visit. */
async function visit(path, isTalking) {
  const context = await browser.newContext();
  const tab = await context.newPage();
  const devtools = await context.newCDPSession(tab);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
  await tab.goto(site.origin + path);
  await tab.waitForTimeout(500);
  if (isTalking) {
    await tab.locator("kefu-chat .launcher").click();
    await tab.locator("kefu-chat textarea").fill("Do you ship to Norway?");
    await tab.locator("kefu-chat textarea").press("Enter");
    await tab.locator("kefu-chat .answer").last().waitFor();
  }
  for (let at = 0; at < CLICKS; at += 1) {
    await tab.locator("body > button").click();
    await tab.waitForTimeout(200);
  }
  const { interactions, shift } = await tab.evaluate(() => seen);
  await context.close();
  return { inp: Math.max(...interactions), cls: shift };
}

try {
  const figures = {};
  for (const [name, path, isTalking] of [
    ["page", "/", false],
    ["with the widget", "/with", false],
    ["while an answer arrives", "/with", true],
  ]) {
    const visits = [];
    for (let at = 0; at < VISITS; at += 1) visits.push(await visit(path, isTalking));
    figures[`INP, ms, ${name}`] = median(visits.map(({ inp }) => inp));
    figures[`CLS, ${name}`] = median(visits.map(({ cls }) => cls));
  }
  report(figures);
} finally {
  await browser.close();
  site.close();
}
