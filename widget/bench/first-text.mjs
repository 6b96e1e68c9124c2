/**
 * From Enter to the first drawn text of the first answer, in the widget and on a page that fetches the same
 * stream and shows its first delta, on a network of 150 ms a round trip. The two take turns. Prints one JSON
 * object: the medians in ms and their ratio. Fails above 1.15.
 *
 *   node bench/first-text.mjs [--quick] [--latency MS]
 */

import { parseArgs } from "node:util";
import { launchChromium } from "../tests/chromium.mjs";
import { OURS } from "./answer.mjs";
import { median, report } from "./report.mjs";
import { sendPage, siteOf, tagOf } from "./site.mjs";

const { values } = parseArgs({
  options: { quick: { type: "boolean" }, latency: { type: "string", default: "150" } },
});
const ROUNDS = values.quick ? 3 : 15;
const MOST_TIMES_BARE = 1.15;
/** The first delta, which no page has before; the rest comes later, as from a model. */
const FIRST_WORDS = "You need three papers";
const REST_MS = 300;
/** For the files that the open chat fetches. A visitor types longer. */
const TYPING_MS = 2_000;

/** Runs in the page: asks on Enter, and shows the text of the first event. */
async function ask(event) {
  if (event.key !== "Enter") return;
  event.preventDefault();
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  const body = JSON.stringify({ messages: [{ role: "user", content: event.target.value }] });
  const response = await fetch("/api/chat", { method: "POST", headers, body });
  const { value } = await response.body.getReader().read();
  const [line] = new TextDecoder().decode(value).split("\n");
  const { choices } = JSON.parse(line.replace("data: ", ""));
  document.querySelector("output").append(choices[0].delta.content);
}

/** Runs in the page: `drawn` becomes the ms from the next key to the frame with `words`. */
function watch(words) {
  const root = document.querySelector("kefu-chat")?.shadowRoot ?? document.body;
  globalThis.drawn = new Promise((resolve) => {
    let start;
    addEventListener("keydown", ({ timeStamp }) => (start = timeStamp), { capture: true });
    const observer = new MutationObserver(() => {
      if (!root.textContent.includes(words)) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
    });
    observer.observe(root, { childList: true, characterData: true, subtree: true });
  });
}

const BARE = `<textarea></textarea><output></output>
<script>document.querySelector("textarea").onkeydown = ${ask}</script>`;
const site = await siteOf(({ method, url }, response) => {
  if (method === "POST") {
    const session = { "X-Session-Id": "bench", "X-Session-Token": "bench" };
    response.writeHead(200, { "Content-Type": "text/event-stream", ...session });
    response.write(OURS.text(FIRST_WORDS));
    setTimeout(() => response.end(OURS.end), REST_MS);
  } else sendPage(response, url === "/bare" ? BARE : tagOf("data-open"));
});
const browser = await launchChromium();

async function visit(path) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: Number(values.latency),
    downloadThroughput: -1,
    uploadThroughput: -1,
  });
  await page.goto(site.origin + path);
  await page.locator("textarea").fill("Which papers do I need?");
  await page.waitForTimeout(TYPING_MS);
  await page.evaluate(watch, FIRST_WORDS);
  await page.locator("textarea").press("Enter");
  const ms = await page.evaluate(() => globalThis.drawn);
  await context.close();
  return ms;
}

try {
  const found = { widget: [], bare: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    found.bare.push(await visit("/bare"));
    found.widget.push(await visit("/"));
  }
  const [widget, bare] = [median(found.widget), median(found.bare)];
  report({ "widget, ms": widget, "bare fetch, ms": bare, ratio: widget / bare });
  if (widget > MOST_TIMES_BARE * bare) process.exitCode = 1;
} finally {
  await browser.close();
  site.close();
}
