/** The comment on an answer that the visitor rated as not helpful. */

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer, inSession } from "../scripted-service.ts";
import { violations } from "./axe.ts";
import { eventually, stage, testInChromium } from "./harness.ts";

const it = stage();

/** A stored chat with one answer. `says`: the statuses of the service; then it accepts comments. */
async function rating(says: number[] = [], attributes: Readonly<Record<string, string>> = {}) {
  it.service.script(inSession(answer(["one"]), "s1", "t1"));
  it.service.kept = [];
  const visit = await it.visit(attributes, { reducedMotion: "reduce" });
  const sent: unknown[] = [];
  await visit.page.route("**/sessions/s1/feedback", async (route) => {
    sent.push(route.request().postDataJSON());
    const headers = { "Access-Control-Allow-Origin": "*" };
    await route.fulfill({ status: says.shift() ?? 204, headers });
  });
  await visit.send("first");
  await visit.page.locator("kefu-chat .actions").waitFor();
  return { ...visit, sent };
}

const field = (page: Page) => page.locator("kefu-chat .comment input");
const focused = (page: Page) =>
  page.evaluate(() => document.querySelector("kefu-chat")?.shadowRoot?.activeElement?.className);

// Firefox does not give Playwright the bodies of requests.
testInChromium(
  "a thumb down offers a line for the reason, which the keyboard reaches and sends (H8)",
  async () => {
    const { page, sent, errors } = await rating();
    await page.locator("kefu-chat .down").press("Enter");
    await field(page).waitFor();
    expect(await focused(page)).toBe("down");
    await page.keyboard.press("Tab");
    await page.keyboard.type("  It is too long. ");
    expect(await violations(page)).toEqual([]);
    const log = page.locator("kefu-chat .log");
    expect(await log.evaluate((node) => node.scrollWidth - node.clientWidth)).toBe(0);
    const [row, send] = ["turn", "submit"].map((name) => page.locator(`kefu-chat .${name}`));
    const [outer, inner] = [await row?.boundingBox(), await send?.boundingBox()];
    expect((inner?.x ?? 0) + (inner?.width ?? 0)).toBeLessThanOrEqual(
      (outer?.x ?? 0) + (outer?.width ?? 0) + 1,
    );
    await page.keyboard.press("Enter");
    const thanks = page.locator("kefu-chat .comment .quiet");
    await thanks.waitFor();
    expect(await focused(page)).toBe("quiet");
    const spoken = page.locator("kefu-chat [role=status]");
    await eventually(() => spoken.innerText(), "Thank you for telling us");
    const [{ client_message_id: id } = {}] = it.service.received.map(({ body }) => body);
    expect(sent).toEqual([{ client_message_id: id, rating: "down", comment: "It is too long." }]);
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
  },
);

test("a comment that could not be stored stays in its field, and is sent again on request (H8)", async () => {
  const { page, sent } = await rating([503]);
  await page.locator("kefu-chat .down").click();
  await field(page).fill("wrong");
  await field(page).press("Enter");
  await page.locator("kefu-chat .comment .trouble").waitFor();
  expect(await field(page).inputValue()).toBe("wrong");
  await page.locator("kefu-chat .comment .submit").click();
  await page.locator("kefu-chat .comment .quiet").waitFor();
  expect(sent).toHaveLength(2);
});

test("the line goes with the rating, and an empty one is not sent (H8)", async () => {
  const { page, sent } = await rating();
  await page.locator("kefu-chat .down").click();
  await field(page).press("Enter");
  await page.locator("kefu-chat .up").click();
  await field(page).waitFor({ state: "detached" });
  await page.locator("kefu-chat .down").click();
  await field(page).waitFor();
  await page.locator("kefu-chat .down").click();
  await field(page).waitFor({ state: "detached" });
  expect(sent).toEqual([]);
});

test("without a stored chat there is no line, and its file is not fetched (H8)", async () => {
  it.service.script(answer(["one"]));
  const { page, send, requests } = await it.visit();
  await send("first");
  await page.locator("kefu-chat .down").click();
  await eventually(() => it.service.rated.length, 1);
  expect(requests.filter((url) => url.includes("-comment."))).toEqual([]);
  expect(await field(page).count()).toBe(0);
});
