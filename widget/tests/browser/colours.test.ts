/** Colours for code (W25). */

import { expect, test } from "vitest";
import { answer } from "../scripted-service.ts";
import { eventually, stage, testInChromium } from "./harness.ts";

const it = stage();

const SHORT = "Run:\n\n```js\nconst a = 'b'; // c\n```\n";
/** Longer than one of the parts in which a long block is shown. */
const LINES = Array.from({ length: 200 }, (_, at) => `if (a${at}) return ${at};`);
const LONG = `Or:\n\n\`\`\`js\n${LINES.join("\n")}\n\`\`\`\n`;

/** The coloured texts of a kind, as long as their elements are in the page. */
function texts(kind: string): readonly string[] {
  const ranges = [
    ...(CSS.highlights.get(`kefu-${kind}`) ?? []),
  ] as unknown as readonly StaticRange[];
  return ranges.map(({ startContainer, startOffset, endOffset }) =>
    (startContainer as Text).data.slice(startOffset, endOffset),
  );
}

testInChromium(
  "code is coloured when its answer is complete, and its elements stay (W25)",
  async () => {
    it.service.script(answer([SHORT]), answer([LONG]), answer([SHORT]));
    const { page, send, idle, errors, requests } = await it.visit();
    const coloured = (kind: string) => page.evaluate(texts, kind);
    await send("How?");
    await idle();
    await eventually(() => coloured("keyword"), ["const"]);
    expect(await coloured("string")).toEqual(["'b'"]);
    expect(await coloured("comment")).toEqual(["// c"]);
    const code = page.locator("kefu-chat pre code").first();
    expect(await code.innerHTML()).not.toMatch(/class|style|mark/);
    await send("How else?");
    await idle();
    await eventually(async () => (await coloured("keyword")).length, 1 + 2 * LINES.length);
    expect(await coloured("number")).toEqual(LINES.map((_, at) => `${at}`));
    await page.evaluate(() => window.ChatWidget?.reset());
    await send("Again?");
    await idle();
    await eventually(() => coloured("keyword"), ["const"]);
    expect(requests.filter((url) => url.includes("chat-widget-colours"))).toHaveLength(1);
    expect(errors).toEqual([]);
  },
);

testInChromium("in a forced-colours theme code stays as it is (W11)", async () => {
  it.service.script(answer([SHORT]));
  const { page, send, idle, requests } = await it.visit({}, { forcedColors: "active" });
  const fetched = page.waitForResponse(/chat-widget-colours/);
  await send("How?");
  await idle();
  await (await fetched).finished();
  await eventually(() => page.locator("kefu-chat figure.code").count(), 1);
  expect(await page.evaluate(() => [...CSS.highlights.keys()])).toEqual([]);
  expect(requests.filter((url) => url.includes("colours"))).toHaveLength(1);
});

test("an answer without code does not fetch the colours (W25)", async () => {
  it.service.script(answer(["`const` alone"]));
  const { send, page, requests } = await it.visit();
  await send("How?");
  await page.locator("kefu-chat .actions").waitFor();
  expect(requests.filter((url) => url.includes("chat-widget-answer"))).toHaveLength(1);
  expect(requests.filter((url) => url.includes("colours"))).toEqual([]);
});
