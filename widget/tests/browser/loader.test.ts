/** The cost of the loader for a page, and how the chat is fetched when it is needed. */

import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import type { Page, Request } from "playwright-core";
import { expect, test } from "vitest";
import { answer, gate, inSession } from "../scripted-service.ts";
import { pageWith } from "../site.ts";
import { daily, eventually, pause, stage, type Visit } from "./harness.ts";

const it = stage();

type Told = typeof globalThis & { ChatWidget: Record<string, (text?: unknown) => () => void> };

/** Opens a page and writes down which of the widget's files it asks for. */
async function glance(
  attributes: Readonly<Record<string, string>> = {},
  prepare: (page: Page) => Promise<unknown> = async () => {},
): Promise<Visit & { readonly asked: string[] }> {
  const all = { "data-api-url": it.service.url, "data-lang": "en", ...attributes };
  const blank = await it.glance(
    it.site.page("/blank", '<!doctype html><title>A</title><link rel="icon" href="data:,">'),
  );
  const asked: string[] = [];
  blank.page.on("request", (request: Request) => {
    const name = new URL(request.url()).pathname;
    if (name.includes("widget")) asked.push(name.replace(/\.[\w-]{12}\./, ".*."));
  });
  await prepare(blank.page);
  await blank.page.goto(it.site.page("/shop", pageWith(all)));
  await blank.launcher.waitFor();
  return { ...blank, asked };
}

const LOADER = "/chat-widget.js";
const OPEN = "/chat-widget-open.*.js";
/** In place of a chat that is no longer served. */
const ALL = "/chat-widget.all.js";
/** Right after the chat. */
const ANSWER = "/chat-widget-answer.*.js";
/** Fetched with the first text of an answer. */
const EDIT = "/chat-widget-edit.*.js";

test("before anybody is interested there is one request, and a launcher with a name (W2, W16)", async () => {
  const { page, asked, launcher, panel, errors } = await glance();
  await pause(400);
  expect(asked).toEqual([LOADER]);
  await page.getByRole("button", { name: "Chat" }).waitFor();
  expect(await launcher.boundingBox()).toMatchObject({ width: 60, height: 60 });
  expect(await panel.count()).toBe(0);
  expect(errors).toEqual([]);
});

for (const [way, show] of Object.entries({
  "the pointer over it": ({ launcher }: Visit) => launcher.hover(),
  "the focus on it": ({ launcher }: Visit) => launcher.focus(),
  "a finger on it": ({ launcher }: Visit) => launcher.dispatchEvent("pointerenter"),
})) {
  test(
    `${way} fetches the chat, once, and opens nothing (W2)`,
    daily(way === "the focus on it"),
    async () => {
      const visit = await glance();
      await show(visit);
      await visit.panel.waitFor({ state: "attached" });
      await show(visit);
      expect(await visit.panel.isVisible()).toBe(false);
      expect(await visit.launcher.getAttribute("aria-label")).toBe("Open chat");
      await eventually(() => visit.asked, [LOADER, OPEN, ANSWER]);
      expect(visit.errors).toEqual([]);
    },
  );
}

test("a click that comes before the chat opens it when it is there, a second one too (W2)", async () => {
  const { page, launcher, panel, input } = await glance({}, (page) => slowly(page, 400));
  await launcher.dispatchEvent("click");
  await launcher.dispatchEvent("click");
  expect(await panel.count()).toBe(0);
  await panel.waitFor();
  expect(await input.evaluate((node) => node.matches(":focus"))).toBe(true);
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "hidden" });
  await launcher.click();
  expect(await panel.isVisible()).toBe(true);
});

/** The chat arrives while the button of the mouse is down: between the press and the release. */
test("a click during which the chat arrives opens it (W2)", async () => {
  const arrival = gate();
  const { page, launcher, panel, input, errors } = await glance({}, (page) =>
    page.route(/widget-open/, async (route) => {
      await arrival.until;
      await route.continue();
    }),
  );
  await launcher.hover();
  await page.mouse.down();
  arrival.open();
  await panel.waitFor({ state: "attached" });
  await page.mouse.up();
  await panel.waitFor();
  expect(await input.evaluate((node) => node.matches(":focus"))).toBe(true);
  expect(errors).toEqual([]);
});

test("a chat that cannot be fetched is one error, and a second click tries again (W2)", async () => {
  let fails = true;
  const { launcher, panel, asked } = await glance({}, (page) =>
    page.route(/widget[-.](open|all)/, (route) => (fails ? route.abort() : route.continue())),
  );
  const complaint = (): Promise<string> =>
    launcher.evaluate((node) => (node as HTMLButtonElement).validationMessage);
  await launcher.hover();
  await eventually(() => asked, [LOADER, OPEN, LOADER, ALL]);
  await pause(100);
  expect(await complaint()).toBe("");
  await launcher.click();
  await eventually(complaint, "Chat did not load");
  expect(await panel.count()).toBe(0);
  fails = false;
  await launcher.click();
  await panel.waitFor();
  expect(await complaint()).toBe("");
});

test("a chat that is not, byte for byte, the one of this build is not run (W2, T28)", async () => {
  const { launcher, panel, errors } = await glance({}, (page) =>
    page.route(/widget-open/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: `${await response.text()};document.title="Bad"` });
    }),
  );
  await launcher.click();
  await eventually(() => errors.some((error) => error.includes("integrity")), true);
  // The genuine one in one file comes in its place.
  await panel.waitFor();
  expect(await launcher.page().title()).toBe("A shop");
});

/** Serves the loader of an earlier release, whose chat is gone. Returns its tag's attributes. */
async function withOldLoader(page: Page): Promise<{ readonly integrity: string }> {
  const response = await page.request.get(`${it.site.origin}/chat-widget.js`);
  const old = (await response.text()).replace(/sha256-.{4}/, "sha256-0000");
  await page.route("**/chat-widget.js", (route) => route.fulfill({ response, body: old }));
  return { integrity: `sha384-${createHash("sha384").update(old).digest("base64")}` };
}

test("a cached launcher of an earlier release opens the chat of this one (aws M4)", async () => {
  it.service.script(answer(["Yes."]));
  const { launcher, panel, asked, send, answers } = await glance({}, withOldLoader);
  await launcher.click();
  await panel.waitFor();
  // The loader of this release, for the next page.
  await eventually(() => asked, [LOADER, OPEN, LOADER, ALL, ANSWER]);
  await send("Do you ship?");
  await eventually(() => answers.innerText(), "Yes.");
});

test("also where the page's policy allows no trusted-types policy (aws M4, T28)", async () => {
  const blank = await it.glance(it.site.page("/blank", "<!doctype html><title>A</title>"));
  await withOldLoader(blank.page);
  const html = pageWith({ "data-api-url": it.service.url, "data-lang": "en" });
  await blank.page.goto(it.site.page("/strict", html, "; trusted-types 'none'"));
  await blank.launcher.click();
  await blank.panel.waitFor();
});

test("a pinned launcher runs no file of another hash: the visitor reads that it failed (aws M4, T28)", async () => {
  const blank = await it.glance(it.site.page("/blank", "<!doctype html><title>A</title>"));
  const { integrity } = await withOldLoader(blank.page);
  const pin = { integrity, crossorigin: "anonymous" };
  const html = pageWith({ "data-api-url": it.service.url, "data-lang": "en", ...pin });
  await blank.page.goto(it.site.page("/pinned", html));
  await blank.launcher.click();
  await eventually(
    () => blank.launcher.evaluate((node) => (node as HTMLButtonElement).validationMessage),
    "Chat did not load",
  );
  expect(await blank.panel.count()).toBe(0);
});

test("where a part of an earlier release is gone, the browser fetches the new launcher (aws M4)", async () => {
  it.service.script(answer(["Yes."]));
  const { page, launcher, asked, send, answers } = await glance({}, (page) =>
    page.route(/widget-answer/, (route) => route.fulfill({ status: 404 })),
  );
  await launcher.click();
  const renewed = page.waitForRequest((request) => request.url().endsWith(LOADER));
  await send("Do you ship?");
  await eventually(() => answers.innerText(), "Yes.");
  await renewed;
  expect(asked.filter((path) => path === LOADER)).toHaveLength(2);
});

test("ChatWidget works at once: calls wait for the chat, in their order (W12)", async () => {
  it.service.script(answer(["Yes."]));
  const { page, panel, answers, asked } = await glance({}, (page) => slowly(page, 300));
  const heard = page.evaluate(() => {
    const { ChatWidget } = globalThis as Told;
    return new Promise<unknown[]>((resolve) => {
      const all: unknown[] = [];
      const on = ChatWidget.on as unknown as (
        name: string,
        told: (it: unknown) => void,
      ) => () => void;
      const off = on("close", () => all.push("never"));
      on("open", () => all.push("open"));
      on("message", (it) => {
        all.push(it);
        if (all.length > 2) resolve(all);
      });
      ChatWidget.send?.("Do you ship?");
      ChatWidget.open?.();
      off();
      ChatWidget.close?.();
      ChatWidget.toggle?.();
    });
  });
  await eventually(() => answers.innerText(), "Yes.");
  expect(await panel.isVisible()).toBe(true);
  expect((await heard).slice(0, 3)).toMatchObject([
    "open",
    { role: "user", text: "Do you ship?" },
    "open",
  ]);
  await eventually(() => asked, [LOADER, OPEN, ANSWER, EDIT]);
});

test("up to the first text of a first answer there are four requests (W16)", async () => {
  const held = gate();
  it.service.script(inSession({ acts: [held, ...answer(["Yes."]).acts] }, "s1", "t"));
  it.service.kept = [];
  const { page, launcher, input, send, answers } = await it.glance(
    it.site.page("/blank", '<!doctype html><title>A</title><link rel="icon" href="data:,">'),
  );
  const asked: string[] = [];
  page.on("request", (request) => {
    const path = new URL(request.url()).pathname.replace(/\.[\w-]{12}\./, ".*.");
    if (!request.isNavigationRequest()) asked.push(`${request.method()} ${path}`);
  });
  // The page sets nothing but the address of the service, which stores chats.
  await page.goto(it.site.page("/shop", pageWith({ "data-api-url": it.service.url })));
  await launcher.click();
  await input.waitFor();
  await send("Do you ship?");
  await eventually(() => it.service.received.length, 1);
  // Whatever else there were to fetch has been asked for by then.
  await pause(500);
  expect(asked).toEqual([`GET ${LOADER}`, `GET ${OPEN}`, `GET ${ANSWER}`, "POST /api/chat"]);
  held.open();
  await eventually(() => answers.innerText(), "Yes.");
  await page.locator("kefu-chat .actions").waitFor();
  // The last file takes up an answer whose connection is lost; by then it could not be fetched.
  await eventually(() => asked.slice(4), [`GET ${EDIT}`, "GET /chat-widget-resume.*.js"]);
});

test("suggestions come with the chat, also where the file for answers cannot be fetched (W2)", async () => {
  for (const isAway of [false, true]) {
    it.service.script(answer(["Yes."]));
    const { page, panel, asked, launcher, send, idle, answers } = await glance(
      { "data-suggestions": "Do you ship?" },
      (blank) =>
        blank.route(/widget-answer/, (route) => (isAway ? route.abort() : route.continue())),
    );
    await launcher.click();
    await panel.waitFor();
    // Where a part is gone, the browser gets the loader of the new release.
    await eventually(() => asked, [LOADER, OPEN, ANSWER, ...(isAway ? [LOADER] : [])]);
    expect(await page.locator("kefu-chat .pill").count()).toBe(1);
    await send("Do you?");
    await idle();
    expect(await answers.allInnerTexts()).toEqual(["Yes."]);
  }
});

test("destroyed before the chat is there, nothing of it is left (W12)", async () => {
  const { page, errors } = await glance({}, (page) => slowly(page, 200));
  await page.evaluate(() => {
    const { ChatWidget } = globalThis as Told;
    ChatWidget.open?.();
    ChatWidget.destroy?.();
  });
  await pause(600);
  expect(await page.locator("kefu-chat").count()).toBe(0);
  expect(await page.evaluate(() => "ChatWidget" in globalThis)).toBe(false);
  expect(errors).toEqual([]);
});

test("data-open, and a chat that was left open, are fetched at once (W2)", async () => {
  it.service.script(answer(["Yes."]));
  const { page, panel, asked, send, idle } = await glance({ "data-open": "" });
  await panel.waitFor();
  await eventually(() => asked, [LOADER, OPEN, ANSWER]);
  await send("Do you ship?");
  await idle();
  const all = { "data-api-url": it.service.url, "data-lang": "en" };
  await page.goto(it.site.page("/next", pageWith(all)));
  await panel.waitFor();
  await page.keyboard.press("Tab");
  await panel.locator(".close").click();
  asked.length = 0;
  await page.goto(it.site.page("/third", pageWith(all)));
  await pause(300);
  expect(asked).toEqual([LOADER]);
});

test("the widget in one file asks for no other, and draws no panel before it is wanted (W2)", async () => {
  const folder = new URL("../../../functions/kefu/web/static/widget/", import.meta.url);
  const file = readdirSync(folder).find((name) => /^chat-widget\.all\.\w+\.js$/.test(name)) ?? "";
  const html = pageWith({ "data-api-url": it.service.url, "data-lang": "zh-CN" });
  const { page, launcher, panel, errors } = await it.glance(
    it.site.page("/all", html.replace("chat-widget.js", file)),
  );
  expect(await panel.count()).toBe(0);
  await launcher.click();
  await page.getByRole("dialog", { name: "在线客服" }).waitFor();
  expect(errors).toEqual([]);
});

/** The chat comes late. */
async function slowly(page: Page, ms: number): Promise<void> {
  await page.route(/widget-open/, async (route) => {
    await pause(ms);
    await route.continue().catch(() => {});
  });
}
