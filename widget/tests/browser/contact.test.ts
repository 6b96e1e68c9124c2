/** The file of the contact form: fetched only with data-contact, and the chat works without it. */

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer, inSession } from "../scripted-service.ts";
import { eventually, pause, stage } from "./harness.ts";

const it = stage();
const ASKS = "Can I talk to a person?";

/** The answers of a service that stores chats. */
function keeping(...texts: readonly string[]): void {
  it.service.script(...texts.map((text) => inSession(answer([text]), "s1", "t1")));
  it.service.kept = [];
}

/** The number of requests for the file, so far. */
function fetches(page: Page): () => number {
  let count = 0;
  page.on("request", (request) => {
    if (request.url().includes("/chat-widget-contact.")) count += 1;
  });
  return () => count;
}

const offers = (page: Page) => page.locator("kefu-chat .person");
const menu = (page: Page) => page.locator("kefu-chat .disclaimer button");

for (const [attributes, expected] of [
  [{}, []],
  [{ "data-contact": "false" }, []],
  [{ "data-contact": "" }, ["Talk to a person"]],
] as const) {
  test(`with ${JSON.stringify(attributes)} the file is fetched ${expected.length} times (W2, H1)`, async () => {
    keeping("one", "two");
    const { page, send, idle, errors } = await it.visit(attributes);
    const fetched = fetches(page);
    for (const question of ["first", ASKS]) {
      await send(question);
      await idle();
    }
    await eventually(() => page.locator("kefu-chat .actions").count(), 2);
    await eventually(
      () => menu(page).allInnerTexts(),
      [...expected, "Download chat", "Delete chat"],
    );
    expect(await offers(page).allInnerTexts()).toEqual(expected);
    expect(fetched()).toBe(expected.length);
    expect(errors).toEqual([]);
  });
}

test("a form that is loaded after the answer is still offered, where the visitor sees it (H1)", async () => {
  keeping("A long answer. ".repeat(200));
  const { page, send, idle } = await it.visit({ "data-contact": "" });
  let arrive = (): void => {};
  const arrival = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  await page.route(/widget-contact/, async (route) => {
    await arrival;
    await route.continue();
  });
  await send(ASKS);
  await idle();
  await page.locator("kefu-chat .actions").waitFor();
  expect(await offers(page).count()).toBe(0);
  arrive();
  await offers(page).waitFor();
  const isAtEnd = await page
    .locator("kefu-chat .log")
    .evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight < 2);
  expect(isAtEnd).toBe(true);
});

for (const [what, spoil] of [
  ["that is not, byte for byte, the one of this build", "changed"],
  ["that cannot be fetched", "away"],
] as const) {
  test(`a file of the form ${what} is not run: the chat works without it (T28)`, async () => {
    keeping("one");
    const { page, send, idle, answers } = await it.visit({ "data-contact": "" });
    const fetched = fetches(page);
    await page.route(/widget-contact/, async (route) => {
      if (spoil === "away") return route.abort();
      const response = await route.fetch();
      return route.fulfill({ response, body: `document.title="Bad";${await response.text()}` });
    });
    await send(ASKS);
    await idle();
    await eventually(() => menu(page).allInnerTexts(), ["Download chat", "Delete chat"]);
    await page.locator("kefu-chat .actions").waitFor();
    await eventually(async () => fetched() > 0, true);
    await pause(300);
    expect(await answers.allInnerTexts()).toEqual(["one"]);
    expect(await offers(page).count()).toBe(0);
    expect(await page.title()).toBe("A shop");
  });
}
