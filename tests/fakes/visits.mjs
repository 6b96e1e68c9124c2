// Makes visits in one Chromium. Reads requests from stdin, one JSON per line: {script, given}. A script
// exports a function, which gets the browser and the strings of `given`. Answers by one line each.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { launchChromium } from "../../widget/tests/chromium.mjs";

let browser;

async function told({ script, given }) {
  const { default: visit } = await import(pathToFileURL(script));
  if (!browser?.isConnected()) browser = await launchChromium();
  try {
    return await visit(browser, ...given);
  } finally {
    // The next visitor finds no cookies, no stored chats and no connections of this one.
    await Promise.all(browser.contexts().map((context) => context.close()));
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await told(JSON.parse(line)).then(
    (seen) => ({ seen }),
    (error) => ({ failed: error.stack }),
  );
  console.log(JSON.stringify(answer));
}
await browser?.close();
