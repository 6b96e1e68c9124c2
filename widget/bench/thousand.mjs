/**
 * A thousand messages in one page: the main thread's time for a message and for a key. Prints one JSON object of
 * figures; fails above the limits. Needs the built widget.
 *
 *   node bench/thousand.mjs [--quick]
 */

import { launchChromium } from "../tests/chromium.mjs";
import { OURS } from "./answer.mjs";
import { report } from "./report.mjs";
import { sendPage, siteOf, tagOf } from "./site.mjs";

const MESSAGES = process.argv.includes("--quick") ? 200 : 1_000;
/** Messages that are measured, at the start and at the end, and keys. */
const MEASURED = 50;
const LIMITS = { message: 20, key: 8 };

const TEXT =
  "Yes. **Standard delivery** takes 3 to 5 working days:\n\n- to Norway: 5\n- to [Sweden](https://shop.example): 3\n\n| To | Days |\n|---|---|\n| Norway | 5 |\n";
const ANSWER = OURS.text(TEXT) + OURS.end;

const site = await siteOf(({ method }, response) => {
  if (method === "POST") {
    response.writeHead(200, { "Content-Type": "text/event-stream" }).end(ANSWER);
  } else sendPage(response, tagOf("data-open"));
});

/** Runs in the page: sends `count` messages, each one after the last answer and a frame. */
async function talk(count) {
  const { shadowRoot } = document.querySelector("kefu-chat");
  const input = shadowRoot.querySelector("textarea");
  for (let at = 0; at < count; at += 1) {
    input.value = `Do you ship to Norway, and how long does parcel ${at} take?`;
    input.dispatchEvent(new Event("input"));
    input.form.requestSubmit();
    while (!shadowRoot.querySelector(".turn:last-child > .actions")) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  }
}

const browser = await launchChromium();
try {
  const page = await (await browser.newContext()).newPage();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
  /** Milliseconds of processor time of the main thread so far. */
  const busy = async () => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "ThreadTime").value * 1_000;
  };
  const cost = async (act, count) => {
    const before = await busy();
    await act();
    return ((await busy()) - before) / count;
  };
  await page.goto(site.origin);
  await page.locator("kefu-chat textarea").waitFor();
  await page.evaluate(talk, 10);
  const early = await cost(() => page.evaluate(talk, MEASURED), MEASURED);
  await page.evaluate(talk, MESSAGES - 10 - 2 * MEASURED);
  const late = await cost(() => page.evaluate(talk, MEASURED), MEASURED);
  await page.locator("kefu-chat textarea").focus();
  const key = await cost(async () => {
    for (const letter of "x".repeat(MEASURED)) {
      await page.keyboard.press(letter);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    }
  }, MEASURED);
  report({
    "messages in the page": MESSAGES,
    "main thread, ms a message, at the start": early,
    "main thread, ms a message, at the end": late,
    "main thread, ms a key, at the end": key,
  });
  if (late > LIMITS.message || key > LIMITS.key) process.exitCode = 1;
} finally {
  await browser.close();
  site.close();
}
