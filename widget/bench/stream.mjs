/**
 * The widget in a real Chromium (W16, W17): what a page pays before anybody wants to chat, what the
 * arrival of the chat costs, and answers in many chunks. Prints one JSON object of figures; needs the
 * built widget.
 *
 *   node bench/stream.mjs [--quick] [CASE]
 */

import { readFile } from "node:fs/promises";
import { launchChromium } from "../tests/chromium.mjs";
import { OURS, SHORT, stream } from "./answer.mjs";
import { report } from "./report.mjs";
import { sendPage, siteOf, tagOf } from "./site.mjs";

const PEER = new URL("peers/node_modules/deep-chat/dist/deepChat.js", import.meta.url);

const CASES = {
  /** 10,000 characters. */
  stream: { chunks: 2_000, quick: 400, perSecond: 200 },
  long: { chunks: 10_000, quick: 2_000, perSecond: 400 },
  /** After 1,000 messages of the same visit. */
  talk: { chunks: 2_000, quick: 400, perSecond: 200, turns: 500 },
  /** The same as `stream`, by the chat component that most sites take; see `make peers`. */
  "deep-chat": { chunks: 2_000, quick: 400, perSecond: 200, isPeer: true },
};
const isQuick = process.argv.includes("--quick");
const wanted = CASES[process.argv.slice(2).find((word) => word in CASES) ?? "stream"];
const CHUNKS = isQuick ? wanted.quick : wanted.chunks;
const PER_SECOND = wanted.perSecond;
const TURNS = wanted.turns === undefined ? 0 : wanted.turns / (isQuick ? 5 : 1);

const PEERS_BODY = `<script type="module" src="/peer.js"></script>
<deep-chat connect='{"url":"/peer","stream":true}' style="width:392px;height:640px"></deep-chat>`;

const peers = { text: (text) => `data: ${JSON.stringify({ text })}\n\n`, end: "" };

let isTalking = false;
const site = await siteOf(async ({ method, url }, response) => {
  if (url === "/bare") stream(response, OURS, CHUNKS, PER_SECOND);
  else if (method === "POST" && isTalking) {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.end(SHORT);
  } else if (method === "POST") {
    stream(response, wanted.isPeer ? peers : OURS, CHUNKS, PER_SECOND);
  } else if (url === "/peer.js") {
    response.writeHead(200, { "Content-Type": "text/javascript; charset=utf-8" });
    response.end(await readFile(PEER));
  } else sendPage(response, wanted.isPeer ? PEERS_BODY : tagOf());
});

/** Runs in the page: a conversation of so many turns, as fast as it goes. */
async function talk(turns) {
  for (let turn = 1; turn <= turns; turn += 1) {
    await new Promise((resolve) => {
      const end = globalThis.ChatWidget.on("message", ({ role }) => {
        if (role === "user") return;
        end();
        setTimeout(resolve);
      });
      globalThis.ChatWidget.send(`Question ${turn}`);
    });
  }
  return document.querySelector("kefu-chat").shadowRoot.querySelectorAll("*").length;
}

/** Runs in the page: an answer that was not shown as a whole costs nothing, and says nothing. */
function complaint() {
  const { shadowRoot } = document.querySelector("kefu-chat");
  const answer = [...shadowRoot.querySelectorAll(".answer")].at(-1).textContent;
  return (
    shadowRoot.querySelector(".trouble")?.textContent ??
    (answer.endsWith("That is all.") ? "" : `it ends with ${answer.slice(-40)}`)
  );
}

/** Runs in the page: reads the same answer, and does nothing with it. */
async function readOnly() {
  const reader = (await fetch("/bare")).body.getReader();
  while (!(await reader.read()).done);
}

const INPUT = wanted.isPeer ? "deep-chat #text-input" : "kefu-chat textarea";

/** Runs in the page, before anything else: tasks over 50 ms, and the gaps between frames. */
function watch() {
  const seen = { tasks: [], gaps: [] };
  globalThis.seen = seen;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) seen.tasks.push(duration);
  }).observe({ type: "longtask", buffered: true });
  let last = performance.now();
  const frame = (now) => {
    seen.gaps.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

const browser = await launchChromium();
try {
  const tab = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const devtools = await tab.context().newCDPSession(tab);
  await devtools.send("Performance.enable");
  await tab.addInitScript(watch);
  /** Milliseconds of the main thread since the tab opened. */
  const spent = async () => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    const of = (name) => (metrics.find((metric) => metric.name === name)?.value ?? 0) * 1_000;
    const [script, style, layout] = ["Script", "RecalcStyle", "Layout"].map((kind) =>
      of(`${kind}Duration`),
    );
    return { task: of("TaskDuration"), script, own: script + style + layout };
  };
  const longest = (name) => tab.evaluate((key) => Math.max(0, ...globalThis.seen[key]), name);

  await tab.goto(site.origin);
  // Before anything is looked for in the page: that takes script of its own.
  const load = await spent();
  await tab.locator(wanted.isPeer ? INPUT : "kefu-chat .launcher").waitFor();
  await tab.waitForTimeout(500);
  const loadTask = await longest("tasks");
  const requests = site.asked.filter((url) => url.endsWith(".js")).length;
  const before = await spent();
  if (!wanted.isPeer) {
    await tab.locator("kefu-chat .launcher").hover();
    await tab.locator("kefu-chat .panel").waitFor({ state: "attached" });
  }
  const arrival = await spent();
  const arrivalTask = await longest("tasks");
  if (!wanted.isPeer) await tab.locator("kefu-chat .launcher").click();
  await tab.locator(INPUT).waitFor();
  await tab.waitForTimeout(500);
  const quietStart = await spent();
  await tab.waitForTimeout(1_000);
  const idle = (await spent()).task - quietStart.task;
  const bareStart = await spent();
  await tab.evaluate(readOnly);
  const bare = ((await spent()).task - bareStart.task) / CHUNKS;
  isTalking = true;
  const elements = TURNS === 0 ? undefined : await tab.evaluate(talk, TURNS);
  isTalking = false;
  const talkTask = await longest("tasks");

  await tab.evaluate(() => {
    globalThis.seen.tasks.length = 0;
    globalThis.seen.gaps.length = 0;
  });
  await tab.locator(INPUT).click();
  await tab.keyboard.type("hello");
  const marks = [await spent()];
  await tab.keyboard.press("Enter");
  const seconds = CHUNKS / PER_SECOND;
  for (let quarter = 0; quarter < 4; quarter += 1) {
    await tab.waitForTimeout((seconds * 1_000) / 4);
    marks.push(await spent());
  }
  // The peer does not show that an answer has ended.
  if (wanted.isPeer) await tab.waitForTimeout(500);
  else await tab.locator('kefu-chat .act[aria-label="Send"]').waitFor();
  const end = await spent();
  const wrong = wanted.isPeer ? "" : await tab.evaluate(complaint);
  if (wrong) throw new Error(`The answer is not there: ${wrong}`);
  const quarters = [0, 1, 2, 3].map((at) => marks[at + 1].task - marks[at].task);
  const gaps = await tab.evaluate(() => globalThis.seen.gaps.toSorted((a, b) => a - b));
  const figures = {
    "requests before interest": requests,
    "load: script ms": load.script,
    "load: longest task ms (0: none over 50)": loadTask,
    "chat arrives: script ms": arrival.script - before.script,
    "chat arrives: longest task ms (0: none over 50)": arrivalTask,
    "main thread ms a chunk": (end.task - marks[0].task) / CHUNKS,
    "of that: to read it and to do nothing, ms a chunk": bare,
    "script, style and layout ms a chunk": (end.own - marks[0].own) / CHUNKS,
    "script ms a chunk": (end.script - marks[0].script) / CHUNKS,
    "idle main thread ms a second": idle,
    "longest task ms (0: none over 50)": await longest("tasks"),
    "median frame ms": gaps[Math.floor(gaps.length / 2)] ?? 0,
    "longest frame gap ms": gaps.at(-1) ?? 0,
    "last quarter / first": quarters[3] / quarters[0],
    // Of the peer only the answer is comparable: it has no launcher.
    ...(elements === undefined
      ? {}
      : { "elements after the talk": elements, "talk: longest task ms": talkTask }),
  };
  report(figures);
} finally {
  await browser.close();
  site.close();
}
