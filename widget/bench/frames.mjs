/**
 * Frames while an answer arrives in WebKit without GPU, where painting is the cost (W16). The chat is
 * compared with a bare page in which the same answer grows in a scroller, in turn. Prints one JSON
 * object of figures; needs the built widget, WebKitWebDriver and Xvfb.
 *
 *   node bench/frames.mjs [--quick]
 */

import { imported } from "../build.mjs";
import { OURS, stream } from "./answer.mjs";
import { median, report } from "./report.mjs";
import { sendPage, siteOf, tagOf } from "./site.mjs";

const DRIVER = new URL("../tests/webkit/driver.ts", import.meta.url);
const [ROUNDS, SECONDS] = process.argv.includes("--quick") ? [1, 4] : [3, 10];
const PER_SECOND = 200;

const BARE = `<div id="log" style="position:fixed;right:20px;bottom:20px;width:392px;height:640px;
 overflow:auto;white-space:pre-wrap"></div>`;

/** Runs in the page: the time of each frame from now on, in a list that grows. */
function watched() {
  const frames = [performance.now()];
  const watch = (now) => {
    frames.push(now);
    requestAnimationFrame(watch);
  };
  requestAnimationFrame(watch);
  return frames;
}

const HEAD = `<script>${watched}</script>`;

const site = await siteOf(({ method, url }, response) => {
  if (method === "POST") stream(response, OURS, SECONDS * PER_SECOND, PER_SECOND);
  else sendPage(response, url === "/bare" ? BARE : tagOf("data-open"), HEAD);
});

/** Runs in the page: asks, and returns the time of each frame until the answer is there. */
async function asked() {
  const frames = globalThis.watched();
  const chat = globalThis.ChatWidget;
  const trouble = await new Promise((resolve) => {
    chat.on("message", ({ role }) => role === "assistant" && resolve());
    chat.on("error", ({ code }) => resolve(code));
    chat.send("hello");
  });
  return { trouble, frames };
}

/** Runs in the page: the same in a scroller. */
async function read() {
  const frames = globalThis.watched();
  const log = document.querySelector("#log");
  const reader = (await fetch("/", { method: "POST" })).body.getReader();
  const utf8 = new TextDecoder();
  let rest = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (rest + utf8.decode(piece.value, { stream: true })).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      log.append(JSON.parse(line.slice(6)).choices[0].delta.content ?? "");
    }
    log.scrollTop = log.scrollHeight;
  }
  return { frames };
}

/** Runs in the page: waits for the chat. */
async function arrived() {
  while (!document.querySelector("kefu-chat")?.shadowRoot.querySelector(".panel")) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  // Until the panel's own animation has ended.
  await new Promise((resolve) => setTimeout(resolve, 500));
}

function perSecond(frames) {
  return ((frames.length - 1) * 1_000) / (frames.at(-1) - frames[0]);
}

const { MISSING, WebKit } = await imported(DRIVER);
if (MISSING.length > 0) throw new Error(`${MISSING} not installed. Try: make parts`);
const webkit = await WebKit.start();
try {
  const found = { chat: [], bare: [] };
  let longest = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    await webkit.goto(`${site.origin}/chat`);
    await webkit.run(arrived);
    const { trouble, frames } = await webkit.run(asked);
    if (trouble) throw new Error(`The answer is not there: ${trouble}`);
    found.chat.push(perSecond(frames));
    longest = Math.max(longest, ...frames.slice(1).map((now, at) => now - frames[at]));
    await webkit.goto(`${site.origin}/bare`);
    // The chat stored its answer when its page was left.
    await webkit.run(() => sessionStorage.clear());
    found.bare.push(perSecond((await webkit.run(read)).frames));
  }
  const [chat, bare] = [median(found.chat), median(found.bare)];
  const figures = {
    "WebKit: frames a second while an answer arrives": chat,
    "WebKit: longest frame gap ms": longest,
    "WebKit: frames a second of a bare page": bare,
    "WebKit: frames, chat / bare page": chat / bare,
  };
  report(figures);
} finally {
  await webkit.stop();
  site.close();
}
