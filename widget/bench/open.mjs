/**
 * From a click on the launcher to the whole, translated panel, in eight set-ups, on a network of 150 ms a
 * round trip and 1.6 Mbit/s. Prints one JSON object: the median in ms and the largest number of request
 * waves of each set-up. Fails if a set-up needs a second wave, or 1.2 times as long as the plain one.
 *
 *   node bench/open.mjs [--quick] [--latency MS] [FOLDER WITH A BUILT WIDGET]
 */

import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { launchChromium } from "../tests/chromium.mjs";
import { median, report } from "./report.mjs";
import { sendPage, siteOf } from "./site.mjs";

const { values, positionals } = parseArgs({
  options: { quick: { type: "boolean" }, latency: { type: "string", default: "150" } },
  allowPositionals: true,
});
const WIDGET = positionals[0] && pathToFileURL(`${positionals[0]}/`);
const ROUNDS = values.quick ? 2 : 5;
const BYTES_PER_SECOND = 1_600_000 / 8;
const MOST_TIMES_PLAIN = 1.2;

const LOGO = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><rect width="64" height="64"/></svg>',
)}`;
const SETUPS = {
  plain: {},
  suggestions: { "data-suggestions": "Do you ship?|Can I return it?" },
  "consent and logo": { "data-consent": "I agree to the terms.", "data-logo": LOGO },
  "contact and tip": { "data-contact": "", "data-tip": "Questions?", "data-tip-when": "600s" },
};
const TITLES = { en: "Chat with us", zh: "在线客服" };

const answer = (request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://site");
  if (pathname !== "/") return response.writeHead(404).end();
  const attributes = [...searchParams].map(([name, value]) => `${name}="${value}"`).join(" ");
  sendPage(response, `<script src="/chat-widget.js" ${attributes} defer></script>`);
};
const site = await siteOf(answer, { widget: WIDGET, isCompressed: true });

/** Runs in the page: opens the chat, and returns the ms until it is whole, and the waves by then. */
async function opened({ title, pills, hasConsent, hasLogo }) {
  performance.clearResourceTimings();
  const start = performance.now();
  globalThis.ChatWidget.open();
  const root = document.querySelector("kefu-chat").shadowRoot;
  const count = (selector) =>
    [...root.querySelectorAll(selector)].filter((node) => node.checkVisibility()).length;
  const isWhole = () =>
    root.querySelector(".panel h2")?.textContent === title &&
    count(".pill") === pills &&
    count(".consent") === Number(hasConsent) &&
    count(".head .logo img") === Number(hasLogo);
  while (!isWhole()) await new Promise(requestAnimationFrame);
  const ms = performance.now() - start;
  // A request belongs to a further wave if it began after one of the wave before had ended.
  let [waves, end] = [0, 0];
  const requests = performance.getEntriesByType("resource");
  for (const { startTime, responseEnd } of requests.sort((a, b) => a.startTime - b.startTime)) {
    if (startTime > start + ms || responseEnd > start + ms) continue;
    if (waves > 0 && startTime < end) end = Math.min(end, responseEnd);
    else [waves, end] = [waves + 1, responseEnd];
  }
  return { ms, waves };
}

const browser = await launchChromium();

async function visit(language, attributes) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const all = { "data-api-url": `${site.origin}/api/chat`, "data-lang": language, ...attributes };
  const session = await context.newCDPSession(page);
  await session.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: Number(values.latency),
    downloadThroughput: BYTES_PER_SECOND,
    uploadThroughput: BYTES_PER_SECOND,
  });
  await page.goto(`${site.origin}/?${new URLSearchParams(all)}`);
  await page.locator("kefu-chat").waitFor({ state: "attached" });
  const found = await page.evaluate(opened, {
    title: TITLES[language],
    pills: attributes["data-suggestions"]?.split("|").length ?? 0,
    hasConsent: "data-consent" in attributes,
    hasLogo: "data-logo" in attributes,
  });
  await context.close();
  return found;
}

const found = {};
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [name, attributes] of Object.entries(SETUPS)) {
    for (const language of Object.keys(TITLES)) {
      found[`${language} ${name}`] ??= [];
      found[`${language} ${name}`].push(await visit(language, attributes));
    }
  }
}
await browser.close();
site.close();

const figures = Object.entries(found).flatMap(([name, visits]) => [
  [`${name}, ms`, median(visits.map(({ ms }) => ms))],
  [`${name}, waves`, Math.max(...visits.map(({ waves }) => waves))],
]);
report(Object.fromEntries(figures));
const [[, plain]] = figures;
for (const [name, figure] of figures) {
  const limit = name.endsWith("ms") ? MOST_TIMES_PLAIN * plain : 1;
  if (figure <= limit) continue;
  console.error(`${name}: ${figure.toFixed(1)} of at most ${limit.toFixed(1)}`);
  process.exitCode = 1;
}
