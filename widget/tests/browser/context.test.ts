/** What a site tells about its page, and the preset that it chooses. */

import { expect, test } from "vitest";
import { answer, inSession } from "../scripted-service.ts";
import { eventually, stage } from "./harness.ts";

const it = stage();

const keeping = (...texts: readonly string[]): void => {
  it.service.script(...texts.map((text) => inSession(answer([text]), "s1", "t1")));
  it.service.kept = [];
};

const bodies = () => it.service.received.map(({ body }) => [body.config_id, body.context]);

test("data-context=page and data-preset go with each question, and with nothing before the consent", async () => {
  keeping("one", "two");
  const { page, send, answers, idle, errors } = await it.visit({
    "data-context": "page",
    "data-preset": "sales",
    "data-consent": "I agree.",
  });
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  await send("first");
  const agree = page.getByRole("button", { name: "Agree" });
  await agree.waitFor();
  expect(requests.filter((url) => url.startsWith(it.service.url))).toEqual([]);
  // A click right after the question is not taken for an agreement.
  await eventually(async () => {
    if (await agree.isVisible()) await agree.click();
    return agree.isVisible();
  }, false);
  await eventually(() => answers.allInnerTexts(), ["one"]);
  await idle();
  await send("second");
  await eventually(() => answers.allInnerTexts(), ["one", "two"]);
  const { origin, pathname } = new URL(page.url());
  const context = { title: "A shop", url: origin + pathname };
  expect(bodies()).toEqual([
    ["sales", context],
    ["sales", context],
  ]);
  expect(errors).toEqual([]);
});

test("ChatWidget.context replaces the facts for the next question, without fetching the chat", async () => {
  it.service.script(answer(["one"]), answer(["two"]), answer(["three"]));
  const url = it.site.page(
    "/",
    `<!doctype html><title>A shop</title><script src="/chat-widget.js" data-api-url="${it.service.url}"
      data-lang="en" defer></script>`,
  );
  const { page, send, answers, idle, launcher } = await it.glance(url);
  const fetched: string[] = [];
  page.on("request", (request) => fetched.push(request.url()));
  const tell = (facts: unknown) => page.evaluate((told) => window.ChatWidget?.context(told), facts);
  await launcher.waitFor();
  await tell({ product: "Boots", price: 79 });
  expect(fetched).toEqual([]);
  await launcher.click();
  await send("first");
  await eventually(() => answers.allInnerTexts(), ["one"]);
  await idle();
  await tell({ product: "Sandals" });
  await send("second");
  await eventually(() => answers.allInnerTexts(), ["one", "two"]);
  await idle();
  await tell(undefined);
  await send("third");
  await eventually(() => answers.allInnerTexts(), ["one", "two", "three"]);
  expect(bodies().map(([, context]) => context)).toEqual([
    { product: "Boots", price: "79" },
    { product: "Sandals" },
    undefined,
  ]);
});
