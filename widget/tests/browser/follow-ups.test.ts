/** Questions below an answer, with which the visitor may go on (W22). */

import { expect, test } from "vitest";
import { chunk, cited, DONE, finish, type Play, sources } from "../scripted-service.ts";
import { violations } from "./axe.ts";
import { eventually, stage } from "./harness.ts";

const it = stage();
const PAGES = [{ number: 1, title: "Delivery", url: "https://shop.example/delivery" }];

function grounded(text: string, followUps?: readonly string[]): Play {
  const send = sources(PAGES) + chunk(text) + finish() + cited([1], true, followUps) + DONE;
  return { acts: [{ send }] };
}

test("a click sends a question; only the last answer has some, and none that was asked (W22)", async () => {
  it.service.script(
    grounded("In three days [1].", ["Do you ship to Norway?", "Who pays the customs?", "<b>?</b>"]),
    grounded("You do [1].", ["Do you ship to Norway?", "Who pays the customs?"]),
  );
  const { page, send, idle, answers, errors } = await it.visit({}, { reducedMotion: "reduce" });
  await send("Do you ship to Norway?");
  await idle();
  const pills = page.locator("kefu-chat .follow-ups .pill");
  await eventually(() => pills.allInnerTexts(), ["Who pays the customs?", "<b>?</b>"]);
  expect(await page.locator("kefu-chat .turn > :last-child").getAttribute("class")).toBe(
    "follow-ups",
  );
  const log = page.locator("kefu-chat .log");
  const gap = () => log.evaluate((node) => node.scrollHeight - node.clientHeight - node.scrollTop);
  expect(await gap()).toBeLessThan(2);
  expect(await violations(page)).toEqual([]);
  await pills.first().click();
  await eventually(() => answers.allInnerTexts(), ["In three days1.", "You do1."]);
  await idle();
  await page.locator("kefu-chat .turn:last-child .actions").waitFor();
  expect(it.service.received[1]?.body.messages.at(-1)?.content).toBe("Who pays the customs?");
  expect(await pills.count()).toBe(0);
  expect(errors).toEqual([]);
});

test("data-follow-ups=off, and an answer without any: no file is fetched (W22)", async () => {
  it.service.script(grounded("In three days [1].", ["Who pays?"]), grounded("Yes [1]."));
  for (const attributes of [{ "data-follow-ups": "off" }, {}]) {
    const { page, send, idle, requests } = await it.visit(attributes);
    await send("Do you ship to Norway?");
    await idle();
    await page.locator("kefu-chat .actions").waitFor();
    expect(requests.filter((url) => url.includes("follow-ups"))).toEqual([]);
    expect(requests.filter((url) => url.includes("-tools"))).toEqual([]);
  }
});
