/**
 * The widget on a slow network, 150 ms a round trip and 1.6 Mbit/s: the launcher on a phone with a
 * quarter of the processor, and the first text of an answer. Prints one JSON object of figures; needs the built widget.
 *
 * The service never answers /health, and is on another origin than the page, as in life. Each question
 * is compared with a bare fetch of the same request from the same page, in turn.
 *
 *   node bench/phone.mjs [--quick]
 */

import { launchChromium } from "../tests/chromium.mjs";
import { SHORT } from "./answer.mjs";
import { median, report } from "./report.mjs";
import { listening, sendPage, siteOf } from "./site.mjs";

const ROUNDS = process.argv.includes("--quick") ? 3 : 9;
const ROUND_TRIP_MS = 150;
const BYTES_PER_SECOND = 1_600_000 / 8;
const SLOWDOWN = 4;

/** Without a cached preflight, as for a visitor's first question. */
const CORS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Headers": "*",
  "Access-Control-Max-Age": "0",
};

const service = await listening((request, response) => {
  if (request.url === "/health") return;
  if (request.method === "OPTIONS") response.writeHead(204, CORS).end();
  else if (request.method === "POST") {
    response.writeHead(200, { ...CORS, "Content-Type": "text/event-stream" }).end(SHORT);
  } else response.writeHead(404, CORS).end();
});
const body = `<script src="/chat-widget.js" data-api-url="${service.origin}/api/chat" defer></script>`;
const site = await siteOf(
  (_, response) => sendPage(response, body, '<meta name="viewport" content="width=device-width">'),
  { isCompressed: true },
);

/** Runs in the page, before anything else: notes when the launcher is there. */
function watch() {
  new MutationObserver((_, observer) => {
    if (!document.querySelector("kefu-chat")) return;
    globalThis.launcherAt = performance.now();
    observer.disconnect();
  }).observe(document, { childList: true, subtree: true });
}

/** Runs in the page: milliseconds until the first text of a bare request. */
async function bare(url) {
  const start = performance.now();
  const body = JSON.stringify({ messages: [{ role: "user", content: "Do you ship?" }] });
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  const response = await fetch(url, { method: "POST", headers, body, cache: "no-store" });
  await response.body.getReader().read();
  return performance.now() - start;
}

/** Runs in the page: milliseconds from Enter until the first text of the answer is in the page. */
async function asked() {
  const { shadowRoot } = document.querySelector("kefu-chat");
  const input = shadowRoot.querySelector("textarea");
  input.value = "Do you ship?";
  input.dispatchEvent(new Event("input"));
  const log = shadowRoot.querySelector(".log");
  const before = log.querySelectorAll(".turn").length;
  const start = performance.now();
  const shown = new Promise((resolve) => {
    new MutationObserver((_, observer) => {
      const turns = log.querySelectorAll(".turn");
      if (turns.length === before || !turns[before].querySelector(".answer").textContent) return;
      observer.disconnect();
      resolve(performance.now() - start);
    }).observe(log, { childList: true, subtree: true, characterData: true });
  });
  const enter = { key: "Enter", bubbles: true, cancelable: true };
  input.dispatchEvent(new KeyboardEvent("keydown", enter));
  return shown;
}

const browser = await launchChromium();
try {
  const found = { launcher: [], first: [], bare: [], later: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    const tab = await context.newPage();
    const devtools = await context.newCDPSession(tab);
    await devtools.send("Network.enable");
    await devtools.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: ROUND_TRIP_MS,
      downloadThroughput: BYTES_PER_SECOND,
      uploadThroughput: BYTES_PER_SECOND / 2,
    });
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: SLOWDOWN });
    await tab.addInitScript(watch);
    await tab.goto(site.origin);
    await tab.locator("kefu-chat .launcher").waitFor();
    found.launcher.push(await tab.evaluate(() => globalThis.launcherAt));
    // The first text is a matter of requests: a slow processor would hide how many there are.
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: 1 });
    await tab.locator("kefu-chat .launcher").click();
    await tab.locator("kefu-chat textarea").waitFor();
    await tab.waitForTimeout(500);
    const url = `${service.origin}/api/chat`;
    found.bare.push(await tab.evaluate(bare, url));
    found.first.push(await tab.evaluate(asked));
    await tab.locator("kefu-chat .actions").waitFor();
    await tab.waitForTimeout(500);
    found.bare.push(await tab.evaluate(bare, url));
    found.later.push(await tab.evaluate(asked));
    await context.close();
  }
  const [launcher, first, plain, later] = ["launcher", "first", "bare", "later"].map((name) =>
    median(found[name]),
  );
  const figures = {
    "slow phone: launcher ms after the start of the page": launcher,
    "150 ms round trip: a bare request's first text ms": plain,
    "150 ms round trip: first question's first text ms": first,
    "150 ms round trip: second question's first text ms": later,
    "150 ms round trip: first question / bare request": first / plain,
    "150 ms round trip: second question / bare request": later / plain,
  };
  report(figures);
} finally {
  await browser.close();
  service.close();
  site.close();
}
