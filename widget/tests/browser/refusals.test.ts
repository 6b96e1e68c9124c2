/** What a visitor and the owner of the site read when the service refuses a message (W6). */

import { expect, test } from "vitest";
import { answer, inSession, refusal } from "../scripted-service.ts";
import { daily, eventually, stage } from "./harness.ts";

const it = stage();

const REFUSALS = [
  [401, "unauthorized", "The chat is not available on this page."],
  [403, "identity_rejected", "The chat is not available on this page."],
  [413, "any", "The message is too long. Please shorten it."],
  [429, "budget_exhausted", "There are no answers left for today. Please come back tomorrow."],
] as const;

for (const [status, code, text] of REFUSALS) {
  test(
    `${status} ${code}: one request, its own words, no Retry (W6)`,
    daily(status === 403),
    async () => {
      it.service.script(refusal(status, code, { "Retry-After": "30" }), answer(["Yes."]));
      const { page, send, trouble, answers, retry } = await it.visit();
      await send("hello");
      await eventually(() => trouble.allInnerTexts(), [text]);
      expect(await retry.count()).toBe(0);
      expect(it.service.received).toHaveLength(1);
      await eventually(() => page.locator("kefu-chat [role=status]").innerText(), text);
      await send("and now?");
      await eventually(() => answers.allInnerTexts(), ["", "Yes."]);
      expect(await trouble.allInnerTexts()).toEqual([text]);
    },
  );
}

test("a failed bot check has its own words, and Retry (W6)", async () => {
  it.service.script(refusal(403, "verification_required"), answer(["Yes."]));
  const { send, trouble, answers, retry } = await it.visit();
  await send("hello");
  const text = "The check for robots did not pass. Please try again.\nRetry";
  await eventually(() => trouble.allInnerTexts(), [text]);
  await retry.click();
  await eventually(() => answers.innerText(), "Yes.");
});

test("the words are in the visitor's language", async () => {
  it.service.script(refusal(429, "budget_exhausted"));
  const { send, trouble } = await it.visit({ "data-lang": "zh-CN" });
  await send("hello");
  await eventually(() => trouble.allInnerTexts(), ["今日咨询已满，请明天再来。"]);
});

test("with a spent budget the visitor can ask for a person, if the chat is stored (H1)", async () => {
  it.service.script(inSession(refusal(429, "budget_exhausted"), "s1", "t1"));
  it.service.kept = [];
  const { page, send } = await it.visit({ "data-contact": "" });
  await send("hello");
  await page.locator("kefu-chat .trouble + .actions .person").waitFor();
});

test("a refused origin: one error on the console names page and setting, and the visitor reads it (F4)", async () => {
  it.service.script();
  it.service.refusesPages = true;
  const { page, send, trouble, retry, errors } = await it.visit();
  const text = "The chat is not available on this page.\nRetry";
  await send("hello");
  await eventually(() => trouble.allInnerTexts(), [text]);
  await retry.click();
  await eventually(() => trouble.allInnerTexts(), [text]);
  const ours = errors.filter((line) => line.startsWith("Chat widget:"));
  const origin = new URL(page.url()).origin;
  expect(ours).toEqual([
    `Chat widget: the service refuses this page: add ${origin} to KEFU_ALLOWED_ORIGINS`,
  ]);
  expect(it.service.received).toEqual([]);
});

test("a connection that breaks is no refusal of the page (W5)", async () => {
  it.service.script({ acts: ["reset"] });
  const { page, send, trouble, errors } = await it.visit();
  const probed = page.waitForResponse((response) => response.status() === 405);
  await send("hello");
  await probed;
  await eventually(
    () => trouble.allInnerTexts(),
    ["The service cannot be reached. Please check your network.\nRetry"],
  );
  expect(errors.filter((line) => line.startsWith("Chat widget:"))).toEqual([]);
});

test("attributes that the widget does not have are named, with the nearest one it has (F14)", async () => {
  it.service.script(answer(["Yes."]));
  const url = it.site.page(
    "/",
    `<!doctype html><title>Shop</title><script src="/chat-widget.js" defer data-api-url="${it.service.url}"
      data-titel="Ask us" data-mood="fine" data-cfasync="false" data-astro-exec data-cookieconsent="ignore" data-open></script>`,
  );
  const { page, send, idle } = await it.glance(url);
  const warnings: string[] = [];
  page.on("console", (line) => {
    if (line.type() === "warning") warnings.push(line.text());
  });
  await page.locator("kefu-chat textarea").waitFor();
  await send("hello");
  await idle();
  await eventually(
    () => warnings,
    [
      "Chat widget: data-titel is unknown; is data-title meant?",
      "Chat widget: data-mood is unknown",
    ],
  );
});
