/** The file of the contact form: fetched only with data-contact, and the chat works without it. */

import type { Page, Response } from "playwright-core";
import { expect, test } from "vitest";
import { answer, chunk, cited, DONE, finish, gate, inSession } from "../scripted-service.ts";
import { daily, eventually, pause, stage } from "./harness.ts";

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
const menu = (page: Page) => page.locator("kefu-chat .kept [role=menuitem]");
/** The texts of the menu, also of the closed one. */
const items = (page: Page) => menu(page).allTextContents();

for (const [attributes, expected] of [
  [{}, []],
  [{ "data-contact": "false" }, []],
  [{ "data-contact": "" }, ["Talk to a person"]],
] as const) {
  test(`with ${JSON.stringify(attributes)} the file is fetched ${expected.length} times (W2, H1)`, async () => {
    keeping("one", "two");
    let fetched = (): number => 0;
    const { page, send, idle, errors } = await it.visit(attributes, {}, undefined, async (page) => {
      fetched = fetches(page);
    });
    for (const question of ["first", ASKS]) {
      await send(question);
      await idle();
    }
    await eventually(() => page.locator("kefu-chat .actions").count(), 2);
    await eventually(
      () => items(page),
      ["New chat", ...expected, "Copy chat", "Text size", "Download chat", "Delete chat"],
    );
    expect(await offers(page).allInnerTexts()).toEqual(expected);
    expect(fetched()).toBe(expected.length);
    expect(errors).toEqual([]);
  });
}

test("a form that is loaded after the answer is still offered, where the visitor sees it (H1)", async () => {
  keeping("A long answer. ".repeat(200));
  const arrival = gate();
  const contact = { "data-contact": "" };
  const { page, send, idle } = await it.visit(contact, {}, undefined, (page) =>
    page.route(/widget-contact/, async (route) => {
      await arrival.until;
      await route.continue();
    }),
  );
  await send(ASKS);
  await idle();
  await page.locator("kefu-chat .actions").waitFor();
  expect(await offers(page).count()).toBe(0);
  arrival.open();
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
  test(
    `a file of the form ${what} is not run: the chat works without it (T28)`,
    daily(spoil === "away"),
    async () => {
      keeping("one");
      let fetched = (): number => 0;
      const contact = { "data-contact": "" };
      const { page, send, idle, answers } = await it.visit(contact, {}, undefined, (page) => {
        fetched = fetches(page);
        return page.route(/widget-contact/, async (route) => {
          if (spoil === "away") return route.abort();
          const response = await route.fetch();
          return route.fulfill({ response, body: `document.title="Bad";${await response.text()}` });
        });
      });
      await send(ASKS);
      await idle();
      await eventually(
        () => items(page),
        ["New chat", "Copy chat", "Text size", "Download chat", "Delete chat"],
      );
      await page.locator("kefu-chat .actions").waitFor();
      await eventually(async () => fetched() > 0, true);
      await pause(300);
      expect(await answers.allInnerTexts()).toEqual(["one"]);
      expect(await offers(page).count()).toBe(0);
      expect(await page.title()).toBe("A shop");
    },
  );
}

test("a link of the service takes the place of the form (H1)", async () => {
  keeping("one");
  it.service.contact = { fields: [], consent: "", link: "mailto:help@example.com" };
  const { page, send, errors } = await it.visit({ "data-contact": "" });
  await send(ASKS);
  await offers(page).waitFor();
  const links = page.locator('kefu-chat a[href="mailto:help@example.com"]');
  await eventually(() => links.allTextContents(), ["Talk to a person", "Talk to a person"]);
  expect(errors).toEqual([]);
});

for (const link of ["javascript:alert(1)", "http://example.com", "data:text/html,x", 5]) {
  test(
    `the address ${link} is no link (H1, T28)`,
    daily(/^(javascript|data):/.test(`${link}`)),
    async () => {
      keeping("one");
      it.service.contact = { fields: ["message"], consent: "", link };
      const { page, send } = await it.visit({ "data-contact": "" });
      await send(ASKS);
      await offers(page).waitFor();
      expect(await offers(page).evaluate((node) => node.localName)).toBe("button");
    },
  );
}

test("a service without a form and a link offers nothing (H1)", async () => {
  keeping("one");
  it.service.contact = { fields: [], consent: "", link: "" };
  let described: Promise<Response> | undefined;
  const contact = { "data-contact": "" };
  const { page, send, idle } = await it.visit(contact, {}, undefined, async (page) => {
    described = page.waitForResponse(/\/api\/contact$/);
  });
  await send(ASKS);
  await idle();
  await (await described)?.finished();
  await eventually(
    () => items(page),
    ["New chat", "Copy chat", "Text size", "Download chat", "Delete chat"],
  );
  expect(await offers(page).count()).toBe(0);
});

test("where chats are not stored the form is sent alone (H2)", async () => {
  it.service.script(answer(["one"]));
  const { page, send, errors } = await it.visit({ "data-contact": "" });
  await send(ASKS);
  await offers(page).click();
  const form = page.locator("kefu-chat form.contact");
  await form.locator("textarea").fill("Svalbard?");
  expect(await form.innerText()).not.toContain("This conversation goes with");
  await form.locator(".submit").click();
  await page.locator("kefu-chat .sent").waitFor();
  expect(it.service.contacts).toEqual([
    { message: "Svalbard?", consent: false, client_message_id: expect.any(String) },
  ]);
  expect(errors).toEqual([]);
});

test("outside the opening hours the form says when a person answers again (H26)", async () => {
  it.service.script(answer(["one"]), answer(["two"]));
  it.service.contact = { ...it.service.contact, opens_at: "2026-11-30T09:00:00+01:00" };
  const { page, send, errors } = await it.visit(
    { "data-contact": "", "data-lang": "de" },
    { timezoneId: "America/New_York" },
  );
  await send(ASKS);
  await offers(page).click();
  const form = page.locator("kefu-chat form.contact");
  const again = "Ein Mensch antwortet wieder: Montag, 30. November um 3:00";
  expect(await form.innerText()).toContain(again);
  await form.locator("textarea").fill("Svalbard?");
  for (const field of await form.locator("input:not([type=checkbox])").all()) {
    await field.fill("ada@example.com");
  }
  for (const box of await form.locator("input[type=checkbox]").all()) await box.check();
  await form.locator(".submit").click();
  const sent = page.locator("kefu-chat .sent");
  expect(await sent.innerText()).toBe(
    `Danke. Wir haben Ihre Nachricht und schreiben Ihnen. ${again}`,
  );
  it.service.contact = { ...it.service.contact, opens_at: null };
  await send(ASKS);
  await offers(page).last().click();
  await form.waitFor();
  expect(await form.innerText()).not.toContain("antwortet wieder");
  expect(errors).toEqual([]);
});

test("a person is offered below an answer that the pages do not give (H1)", async () => {
  const unanswered = cited([], false);
  const play = { acts: [{ send: chunk("I do not know.") + finish() + unanswered + DONE }] };
  it.service.script(inSession(answer(["It is."]), "s1", "t1"), inSession(play, "s1", "t1"));
  it.service.kept = [];
  const { page, send, idle } = await it.visit({ "data-contact": "" });
  await send("first");
  await idle();
  await menu(page).filter({ hasText: "Talk" }).waitFor({ state: "attached" });
  await send("second");
  await offers(page).waitFor();
  expect(await offers(page).count()).toBe(1);
  const row = page.locator("kefu-chat .turn", { hasText: "I do not know." });
  expect(await row.locator(".person").count()).toBe(1);
});

test("the form opens beside a comment that is being written, and leaves it there (H1, H8)", async () => {
  keeping("one");
  const { page, send } = await it.visit({ "data-contact": "" });
  const json = { fields: ["message"], consent: "", link: "" };
  const headers = { "Access-Control-Allow-Origin": "*" };
  await page.route("**/contact", (route) => route.fulfill({ json, headers }));
  await send("first");
  await page.locator("kefu-chat .down").click();
  const comment = page.locator("kefu-chat .comment input");
  await comment.fill("too long");
  await offers(page).click();
  await page.locator("kefu-chat form.contact textarea").waitFor();
  expect(await comment.inputValue()).toBe("too long");
});
