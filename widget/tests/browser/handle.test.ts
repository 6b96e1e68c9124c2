/** `window.ChatWidget` and its events, the API for the page's own scripts. */

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer, chunk, refusal } from "../scripted-service.ts";
import { pageWith } from "../site.ts";
import { eventually, pause, stage } from "./harness.ts";

const it = stage();

interface Handle {
  open(): void;
  close(): void;
  toggle(): void;
  send(text: string): void;
  reset(): void;
  destroy(): void;
  on(event: string, told: (detail: unknown) => void): () => void;
}
type Global = typeof globalThis & { ChatWidget: Handle; heard: unknown[][]; off: () => void };

interface TrustedTypesPage {
  readonly trustedTypes: {
    createPolicy(
      name: string,
      rules: { createScriptURL: (url: string) => string },
    ): { createScriptURL(url: string): string };
  };
}

type Call = Exclude<keyof Handle, "on">;

function call(page: Page, name: Call, text = ""): Promise<void> {
  return page.evaluate(([method, given]) => (globalThis as Global).ChatWidget[method](given), [
    name,
    text,
  ] as const);
}

/** As a single-page app would: the same script, by a new tag, in the same page. */
async function includeAgain(page: Page, apiUrl: string): Promise<void> {
  await page.evaluate((url) => {
    const { trustedTypes } = globalThis as unknown as TrustedTypesPage;
    const policy = trustedTypes.createPolicy("site", { createScriptURL: (given) => given });
    const script = document.createElement("script");
    script.src = policy.createScriptURL("/chat-widget.js");
    script.dataset.apiUrl = url;
    script.dataset.lang = "en";
    document.head.append(script);
  }, apiUrl);
}

/** Writes down every event that reaches the document. */
async function listen(page: Page): Promise<() => Promise<unknown[][]>> {
  await page.evaluate(() => {
    const heard: unknown[][] = [];
    Object.assign(globalThis, { heard });
    for (const name of ["open", "close", "message", "delta", "error"]) {
      document.addEventListener(`chat-widget:${name}`, (event) =>
        heard.push([name, (event as CustomEvent).detail]),
      );
    }
  });
  return () => page.evaluate(() => (globalThis as Global).heard);
}

test("ChatWidget.open, close and toggle work, and dispatch events (W12)", async () => {
  const { page, panel, input } = await it.visit({ "data-open": "false" });
  const heard = await listen(page);
  await call(page, "open");
  expect(await panel.isVisible()).toBe(true);
  expect(await input.evaluate((node) => node.matches(":focus"))).toBe(true);
  await call(page, "open");
  await call(page, "close");
  await panel.waitFor({ state: "hidden" });
  await call(page, "close");
  await call(page, "toggle");
  expect(await panel.isVisible()).toBe(true);
  expect(await heard()).toEqual([
    ["open", {}],
    ["close", {}],
    ["open", {}],
  ]);
});

test("ChatWidget.close leaves the focus alone where the visitor is elsewhere (W11, W12)", async () => {
  const { page } = await it.visit();
  await page.locator("#before").focus();
  await call(page, "close");
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("before");
});

test("ChatWidget.send opens the panel and asks; the events of the turn have one id (W12)", async () => {
  it.service.script(answer(["Yes", " we do."], 60));
  const { page, panel, idle } = await it.visit({ "data-open": "false" });
  const heard = await listen(page);
  await call(page, "send", "Do you ship?");
  expect(await panel.isVisible()).toBe(true);
  await idle();
  const id = it.service.received[0]?.body.client_message_id;
  const all = (await heard()) as [string, { id?: string; text?: string }][];
  expect(all.filter(([name]) => name !== "delta")).toEqual([
    ["open", {}],
    ["message", { id, role: "user", text: "Do you ship?" }],
    ["message", { id, role: "assistant", text: "Yes we do." }],
  ]);
  // On a busy machine the two chunks arrive together, and are one event.
  const deltas = all.slice(2, -1).map(([, detail]) => detail);
  expect(deltas.map((detail) => detail.text).join("")).toBe("Yes we do.");
  expect(new Set(deltas.map((detail) => detail.id))).toEqual(new Set([id]));
});

test("ChatWidget.send sends nothing before the visitor has agreed (W12, T29)", async () => {
  it.service.script(answer(["ok"]));
  const { page, answers } = await it.visit({ "data-consent": "I agree." });
  await call(page, "send", "hello");
  await pause(600);
  expect(it.service.received).toHaveLength(0);
  await page.getByRole("button", { name: "Agree" }).click();
  await eventually(() => answers.innerText(), "ok");
});

test("a refused question is an error event with its code (W12)", async () => {
  it.service.script(refusal(503, "upstream_service_unavailable"));
  const { page, send, retry } = await it.visit();
  const heard = await listen(page);
  await send("hello");
  await retry.waitFor();
  const id = it.service.received[0]?.body.client_message_id;
  expect((await heard()).at(-1)).toEqual(["error", { id, code: "upstream_service_unavailable" }]);
});

test("ChatWidget.on calls with the detail until it is ended; a handler that throws harms nothing (W12)", async () => {
  it.service.script(answer(["one"]), answer(["two"]));
  const { page, send, idle, answers } = await it.visit();
  await page.evaluate(() => {
    const heard: unknown[][] = [];
    const { ChatWidget } = globalThis as Global;
    const off = ChatWidget.on("delta", (detail) => heard.push([(detail as { text: string }).text]));
    ChatWidget.on("delta", () => {
      throw new Error("the page's own trouble");
    });
    Object.assign(globalThis, { heard, off });
  });
  await send("first");
  await idle();
  await page.evaluate(() => (globalThis as Global).off());
  await send("second");
  await eventually(() => answers.last().innerText(), "two");
  expect(await page.evaluate(() => (globalThis as Global).heard)).toEqual([["one"]]);
});

test("the new chat button stops the answer, forgets the conversation and takes the focus to the input (W8)", async () => {
  it.service.script({ acts: [{ send: chunk("Once upon") }, "silence"] }, answer(["Fresh."]));
  const { page, send, answers, input, idle } = await it.visit({
    "data-suggestions": "One?",
  });
  await send("Tell me");
  await eventually(() => answers.innerText(), "Once upon");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "New chat" }).click();
  await eventually(() => it.service.cancelled.length, 1);
  await idle();
  expect(await answers.count()).toBe(0);
  expect(await page.locator("kefu-chat .question").count()).toBe(0);
  expect(await page.locator("kefu-chat p.answer").count()).toBe(1);
  expect(await page.locator("kefu-chat .pill").allInnerTexts()).toEqual(["One?"]);
  expect(await input.evaluate((node) => node.matches(":focus"))).toBe(true);
  expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain("Tell me");
  await send("Hello");
  await eventually(() => answers.innerText(), "Fresh.");
  expect(it.service.received.at(-1)?.body.messages).toEqual([{ role: "user", content: "Hello" }]);
});

test("a conversation that ended in trouble can be left for a new one (W8)", async () => {
  it.service.script(refusal(503, "upstream_service_unavailable"), answer(["Fresh."]));
  const { page, send, retry, trouble, answers } = await it.visit();
  await send("hello");
  await retry.waitFor();
  await call(page, "reset");
  expect(await trouble.count()).toBe(0);
  await send("again");
  await eventually(() => answers.innerText(), "Fresh.");
});

test("destroy ends the answer under way and leaves nothing; the script included again starts anew (W9, W12)", async () => {
  it.service.script({ acts: [{ send: chunk("Once") }, "silence"] }, answer(["Again."]));
  const { page, send, answers, errors } = await it.visit();
  await send("Tell me");
  await eventually(() => answers.innerText(), "Once");
  await call(page, "destroy");
  expect(await page.locator("kefu-chat").count()).toBe(0);
  expect(await page.evaluate(() => "ChatWidget" in globalThis)).toBe(false);
  await eventually(() => it.service.received[0]?.isAborted, true);
  await eventually(() => it.service.cancelled.length, 1);
  await page.evaluate(() => {
    window.dispatchEvent(new Event("pagehide"));
    window.dispatchEvent(new Event("online"));
  });
  await pause(100);
  expect(it.service.cancelled).toHaveLength(1);
  await includeAgain(page, it.service.url);
  await eventually(() => answers.allInnerTexts(), ["Once"]);
  await page.locator("kefu-chat .retry").click();
  await eventually(() => answers.allInnerTexts(), ["Again."]);
  expect(errors).toEqual([]);
});

test("a form of the page that is named ChatWidget causes no error (T27)", async () => {
  const clobber =
    '<form name="ChatWidget"><input name="destroy"></form>' +
    '<form name="ChatWidgetConfig"><input name="title"><input name="apiUrl"></form>' +
    '<img name="currentScript" alt="">';
  const attributes = { "data-api-url": it.service.url, "data-lang": "en" };
  const { page, panel, errors } = await it.visit({}, {}, pageWith(attributes, clobber));
  await call(page, "open");
  expect(await panel.locator("h2").innerText()).toBe("Chat with us");
  expect(errors).toEqual([]);
});

test("a forged message or event of another window changes nothing (T26)", async () => {
  const { page, panel, errors } = await it.visit({ "data-open": "false" });
  await page.evaluate(() => {
    for (const data of ["open", { type: "chat-widget:open" }, { method: "send", text: "hi" }]) {
      window.postMessage(data, "*");
    }
    document.dispatchEvent(new CustomEvent("chat-widget:open", { detail: {} }));
  });
  await pause(100);
  expect(await panel.isVisible()).toBe(false);
  expect(it.service.received).toHaveLength(0);
  expect(errors).toEqual([]);
});
