/** The bot check of the widget, with a stand-in for the provider's script (T17). */

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer, inSession, type Play, refusal } from "../scripted-service.ts";
import { pageWith } from "../site.ts";
import { eventually, stage, type Visit } from "./harness.ts";

const it = stage();

/** Each press of the button in the provider's box gives another token. */
const PROVIDER = `{
  let count = 0;
  window.turnstile = {
    render(box, { callback }) {
      const button = document.createElement("button");
      button.textContent = "I am human";
      button.onclick = () => callback("token " + ++count);
      box.append(button);
    },
    remove() {},
  };
}`;

const passed = (play: Play, pass: string): Play => ({
  ...inSession(play, "s1", "t1"),
  headers: { ...inSession(play, "s1", "t1").headers, "X-Verification-Pass": pass },
});

const human = (page: Page) => page.getByRole("button", { name: "I am human" });

/** With the addresses that docs/bot-check.md names. */
const POLICY =
  "default-src 'none'; script-src 'self' https://challenges.cloudflare.com; style-src 'self'; " +
  "img-src data:; connect-src 'self' http://127.0.0.1:*; require-trusted-types-for 'script'; " +
  "trusted-types kefu-chat kefu-check";

/** A page of the shop. */
async function visited(setting: string): Promise<Visit> {
  const html = pageWith({
    "data-api-url": it.service.url,
    "data-lang": "en",
    "data-first-byte-timeout": "0.6",
    "data-bot-check": setting,
  });
  const visit = await it.glance("about:blank");
  const { page } = visit;
  await page.route("https://challenges.cloudflare.com/**", (route) =>
    route.fulfill({ body: PROVIDER, contentType: "text/javascript" }),
  );
  const url = it.site.page("/checked", html, "", POLICY);
  await page.goto(url);
  await visit.launcher.click();
  await visit.input.waitFor();
  return visit;
}

const proofs = () =>
  it.service.received.map(
    ({ body }) => body.verification_token ?? `pass ${body.verification_pass}`,
  );

test("a question waits for the check, also longer than for a first byte; its pass serves the next ones", async () => {
  it.service.script(passed(answer(["one"]), "A"), passed(answer(["two"]), "B"), answer(["three"]));
  it.service.kept = [];
  const { page, send, answers, idle, errors } = await visited("turnstile:key");
  await send("first");
  await human(page).waitFor();
  // Longer than the limit for the first byte.
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 900)));
  expect(it.service.received).toEqual([]);
  await human(page).click();
  await eventually(() => answers.allInnerTexts(), ["one"]);
  expect(await human(page).count()).toBe(0);
  for (const question of ["second", "third"]) {
    await idle();
    await send(question);
  }
  await eventually(() => answers.allInnerTexts(), ["one", "two", "three"]);
  expect(proofs()).toEqual(["token 1", "pass A", "pass B"]);
  expect(errors).toEqual([]);
});

test("a pass that has expired: the check runs again, and the question is sent again", async () => {
  it.service.script(
    passed(answer(["one"]), "A"),
    refusal(403, "verification_required"),
    passed(answer(["two"]), "B"),
  );
  it.service.kept = [];
  const { page, send, answers, idle } = await visited("turnstile:key");
  await send("first");
  await human(page).click();
  await eventually(() => answers.allInnerTexts(), ["one"]);
  await idle();
  await send("second");
  await human(page).click();
  await eventually(() => answers.allInnerTexts(), ["one", "two"]);
  expect(proofs()).toEqual(["token 1", "pass A", "token 2"]);
  const [, second, third] = it.service.received.map(({ body }) => body.client_message_id);
  expect(third).toBe(second);
});

test("Stop during the check sends nothing; the next question uses the same check", async () => {
  it.service.script(passed(answer(["one"]), "A"));
  const { page, send, act, answers } = await visited("turnstile:key");
  await send("first");
  await human(page).waitFor();
  // A click right after the question does not stop it.
  await eventually(async () => {
    await act.click();
    return act.getAttribute("aria-label");
  }, "Send");
  await send("second");
  await human(page).click();
  await eventually(() => answers.allInnerTexts(), ["", "one"]);
  expect(it.service.received.map(({ body }) => body.messages.at(-1)?.content)).toEqual(["second"]);
});

test("a setting that names no provider: one error on the console, and the service refuses", async () => {
  it.service.script(refusal(403, "verification_required"));
  const { send, trouble, errors } = await visited("captcha:key");
  await send("first");
  await eventually(
    () => trouble.allInnerTexts(),
    ["The check for robots did not pass. Please try again.\nRetry"],
  );
  const ours = errors.filter((line) => line.startsWith("Chat widget:"));
  expect(ours).toEqual([
    "Chat widget: data-bot-check must be turnstile:SITEKEY or hcaptcha:SITEKEY",
  ]);
});
