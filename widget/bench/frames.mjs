/**
 * Frames while an answer arrives in WebKit without GPU, where painting is the cost (W16). The chat is
 * compared with a bare page in which the same answer grows in a scroller, in turn. Prints one JSON
 * object of figures; needs the built widget, WebKitWebDriver and Xvfb.
 *
 *   node bench/frames.mjs [--quick]
 */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { imported } from "../build.mjs";
import { OURS, stream } from "./answer.mjs";
import { report } from "./report.mjs";

const WIDGET = new URL("../../functions/kefu/web/static/widget/", import.meta.url);
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

const page = (body) => `<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>Bench</title><link rel="icon" href="data:,"><script>${watched}</script></head><body><h1>Bench</h1>${body}</body></html>`;

const server = createServer(async (request, response) => {
  const isFile = /^\/chat-widget[\w.-]*\.js(on)?$/.test(request.url);
  if (request.method === "POST") stream(response, OURS, SECONDS * PER_SECOND, PER_SECOND);
  else if (isFile) {
    const headers = {
      "Content-Type": "text/javascript; charset=utf-8",
      "Access-Control-Allow-Origin": "*",
      "Cache-Control": "no-store",
    };
    response
      .writeHead(200, headers)
      .end(await readFile(new URL(`.${request.url}`, WIDGET)).catch(() => ""));
  } else {
    const tag = `<script src="/chat-widget.js" data-api-url="${origin()}/api/chat" data-open defer></script>`;
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
    response.end(page(request.url === "/bare" ? BARE : tag));
  }
});
const origin = () => `http://127.0.0.1:${server.address().port}`;
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

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

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

const { MISSING, WebKit } = await imported(DRIVER);
if (MISSING.length > 0) throw new Error(`${MISSING} not installed. Try: make parts`);
const webkit = await WebKit.start();
try {
  const found = { chat: [], bare: [] };
  let longest = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    await webkit.goto(`${origin()}/chat`);
    await webkit.run(arrived);
    const { trouble, frames } = await webkit.run(asked);
    if (trouble) throw new Error(`The answer is not there: ${trouble}`);
    found.chat.push(perSecond(frames));
    longest = Math.max(longest, ...frames.slice(1).map((now, at) => now - frames[at]));
    await webkit.goto(`${origin()}/bare`);
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
  server.close();
  server.closeAllConnections();
}
