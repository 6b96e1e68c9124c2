/** The widget on a page: one element, no noise, usable by keyboard, and text is never markup. */

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer, chunk, DONE, finish, gate } from "../scripted-service.ts";
import { pageWith, tagWith } from "../site.ts";
import { daily, eventually, pause, stage, testInChromium } from "./harness.ts";

const it = stage();
const BUILD = new URL(
  "../../../functions/kefu/web/static/widget/chat-widget.json",
  import.meta.url,
);

test("included twice: one widget, one request (W9)", async () => {
  it.service.script(answer(["ok"]), answer(["never"]));
  const tag = tagWith({ "data-api-url": it.service.url, "data-open": "" });
  const { page, send, answers } = await it.visit(
    {},
    {},
    pageWith({ "data-api-url": it.service.url, "data-open": "" }, tag),
  );
  await send("hello");
  await eventually(() => answers.innerText(), "ok");
  expect(await page.locator("kefu-chat").count()).toBe(1);
  expect(it.service.received).toHaveLength(1);
});

test("included again later, by a single-page app: still one widget (W9)", async () => {
  const { page } = await it.visit();
  await include(page, it.service.url, "text/javascript");
  expect(await page.locator("kefu-chat").count()).toBe(1);
});

const WRONG: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "no data-api-url": {},
  "an http address": { "data-api-url": "http://api.example/api/chat" },
  "a script as address": { "data-api-url": "javascript:alert(1)" },
  "no address at all": { "data-api-url": "https://" },
};

for (const [name, attributes] of Object.entries(WRONG)) {
  test(
    `${name}: one clear console error, no widget, no exception (W15)`,
    daily(name === "no data-api-url" || name === "a script as address"),
    async () => {
      const { page, errors } = await it.open(it.site.page("/wrong", pageWith(attributes)));
      expect(errors).toHaveLength(1);
      expect(errors[0]).toMatch(/^Chat widget: data-api-url /);
      expect(await page.locator("kefu-chat").count()).toBe(0);
    },
  );
}

for (const type of ["module", "text/javascript"]) {
  test(
    `put into the page by a script, as ${type}: it finds its tag (W15)`,
    daily(type === "module"),
    async () => {
      const { page, launcher, errors } = await it.open(it.site.page("/bare", pageWithout()));
      expect(await page.locator("kefu-chat").count()).toBe(0);
      await include(page, it.service.url, type);
      await launcher.waitFor();
      expect(errors).toEqual([]);
    },
  );
}

for (const [name, change, expected] of [
  ["the build's own hash lets it run", "", 1],
  ["a wrong hash is blocked by the browser, and the page goes on", "x", 0],
] as const) {
  test(`pinned: ${name} (T28, C16)`, async () => {
    const { loader, ...all } = JSON.parse(await readFile(BUILD, "utf8"));
    expect(all.file).toMatch(/^chat-widget\.all\.[0-9a-f]{12}\.js$/);
    for (const { file, integrity } of [all, loader]) {
      const given = integrity.replace("sha384-", `sha384-${change}`).slice(0, integrity.length);
      const html = pageWith({ "data-api-url": it.service.url, integrity: given });
      const tag = html.replace("/chat-widget.js", `/${file}`);
      const { page, errors } = await it.open(it.site.page("/pinned", tag));
      expect(await page.locator("kefu-chat").count()).toBe(expected);
      expect(await page.locator("h1").innerText()).toBe("A shop");
      expect(errors).toHaveLength(1 - expected);
    }
  });
}

test("on a page in GBK, from a host that names no charset, its Chinese is still Chinese", async () => {
  const context = await it.browser.newContext();
  const page = await context.newPage();
  await page.route("**/chat-widget*.js", async (route) => {
    const name = new URL(route.request().url()).pathname.slice(1);
    const headers = { "Content-Type": "text/javascript", "Access-Control-Allow-Origin": "*" };
    await route.fulfill({ body: await readFile(new URL(name, BUILD)), headers });
  });
  const html = pageWith({ "data-api-url": it.service.url, "data-open": "", "data-lang": "zh-CN" });
  await page.route("**/gbk", (route) =>
    route.fulfill({
      body: html.replace("utf-8", "gbk"),
      headers: { "Content-Type": "text/html; charset=gbk" },
    }),
  );
  await page.goto(`${it.site.origin}/gbk`);
  expect(await page.evaluate(() => document.characterSet)).toBe("GBK");
  expect(await page.locator("kefu-chat h2").innerText()).toBe("在线客服");
});

test("settings may come from ChatWidgetConfig, and attributes win (W1)", async () => {
  const html = pageWith({ "data-api-url": it.service.url, "data-title": "From the tag" });
  const context = await it.browser.newContext();
  const page = await context.newPage();
  await page.addInitScript(() => {
    Object.assign(globalThis, {
      ChatWidgetConfig: { title: "From the config", greeting: "Config greets", open: true },
    });
  });
  await page.goto(it.site.page("/config", html));
  const host = page.locator("kefu-chat");
  expect(await host.locator("h2").innerText()).toBe("From the tag");
  expect(await host.locator("p.answer").innerText()).toBe("Config greets");
});

test("a tag manager inserts scripts without their data attributes: docs/widget.md (W1)", async () => {
  const docs = await readFile(new URL("../../../docs/widget.md", import.meta.url), "utf8");
  const tags = docs.split("**Google Tag Manager**")[1]?.split("```html")[1]?.split("```")[0] ?? "";
  const [shop, chat] = ["https://www.example.com/", "https://chat.example.com/"];
  const { page, requests, errors } = await it.glance(shop, {}, async (page) => {
    const body = '<meta charset="utf-8"><title>A shop</title>';
    await page.route(shop, (route) => route.fulfill({ body, contentType: "text/html" }));
    await page.route(`${chat}*`, async (route) => {
      const name = new URL(route.request().url()).pathname.slice(1);
      const headers = { "Access-Control-Allow-Origin": "*" };
      await route.fulfill({ path: new URL(name, BUILD).pathname, headers });
    });
  });
  await page.evaluate((html) => {
    for (const { src, text } of new DOMParser().parseFromString(html, "text/html").scripts) {
      const script = Object.assign(document.createElement("script"), src ? { src } : { text });
      document.body.append(script);
    }
  }, tags);
  await page.locator("kefu-chat .launcher").click();
  await page.locator("kefu-chat textarea").fill("Hi");
  await page.locator("kefu-chat textarea").press("Enter");
  await expect.poll(() => requests).toContain(`${chat}api/chat`);
  expect(errors.filter((text) => text.startsWith("Chat widget"))).toEqual([]);
});

test("text of the model is never markup (W13)", async () => {
  const hostile = '<img src=x onerror="alert(1)"><b>bold</b>\n[link](javascript:alert(1))';
  it.service.script(answer([...hostile]));
  const { send, answers, idle, errors, page } = await it.visit({ "data-greeting": "<i>Hi</i>" });
  await send("<script>alert(2)</script>");
  await idle();
  expect(await answers.textContent()).toBe(hostile);
  expect(await answers.innerText()).toBe(hostile);
  expect(await answers.locator("p").count()).toBe(1);
  expect(await answers.locator(":not(.page, p, span)").count()).toBe(0);
  expect(await page.locator("kefu-chat .question").innerText()).toContain(
    "<script>alert(2)</script>",
  );
  expect(await page.locator("kefu-chat p.answer").innerText()).toBe("<i>Hi</i>");
  expect(errors).toEqual([]);
});

// Playwright has no compositions: they are commands of Chromium.
testInChromium("Enter that ends an IME composition does not send (W9)", async () => {
  it.service.script(answer(["好"]));
  const { page, input, answers } = await it.visit();
  await input.focus();
  const keyboard = await page.context().newCDPSession(page);
  await keyboard.send("Input.imeSetComposition", {
    text: "ni hao",
    selectionStart: 6,
    selectionEnd: 6,
  });
  await keyboard.send("Input.dispatchKeyEvent", {
    type: "keyDown",
    key: "Enter",
    code: "Enter",
    windowsVirtualKeyCode: 229,
  });
  await keyboard.send("Input.dispatchKeyEvent", {
    type: "keyUp",
    key: "Enter",
    code: "Enter",
    windowsVirtualKeyCode: 13,
  });
  await pause(200);
  expect(it.service.received).toHaveLength(0);
  await keyboard.send("Input.insertText", { text: "你好" });
  expect(await input.inputValue()).toBe("你好");
  await input.press("Enter");
  await eventually(() => answers.innerText(), "好");
  expect(it.service.received[0]?.body.messages).toEqual([{ role: "user", content: "你好" }]);
});

// Firefox does not tell the page what is selected inside a shadow root.
testInChromium("an answer can be selected on a page whose own text cannot (W12)", async () => {
  it.service.script(answer(["They are warm."]));
  const html = pageWith(
    { "data-api-url": it.service.url, "data-open": "", "data-lang": "en" },
    '<link rel="stylesheet" href="/locked.css">',
  );
  it.site.page("/locked.css", "* { user-select: none }");
  const { page, send, idle, answers } = await it.visit({}, {}, html);
  await send("Are they warm?");
  await idle();
  await answers.locator("p").click({ clickCount: 3 });
  expect(await page.evaluate(() => `${getSelection()}`.trim())).toBe("They are warm.");
});

test("Escape that ends a composition leaves the panel open: its key code is 229 in Safari (W9)", async () => {
  const { panel, input } = await it.visit();
  await panel.waitFor();
  const isHiddenAfter = (keyCode: number) =>
    input.evaluate((node, code) => {
      const key = { key: "Escape", keyCode: code, bubbles: true };
      node.dispatchEvent(new KeyboardEvent("keydown", key));
      return node.closest<HTMLElement>(".panel")?.hidden;
    }, keyCode);
  expect([await isHiddenAfter(229), await isHiddenAfter(27)]).toEqual([false, true]);
});

test("the input is one line tall, grows with its text, and shrinks when it is sent", async () => {
  it.service.script(answer(["ok"]));
  const { input, launcher, panel, idle } = await it.visit();
  const height = (): Promise<number> => input.evaluate((node) => node.clientHeight);
  expect(await height()).toBe(36);
  await input.fill("one\ntwo\nthree");
  expect(await height()).toBe(84);
  await launcher.click();
  await launcher.click();
  expect([await panel.isVisible(), await height()]).toEqual([true, 84]);
  await input.press("Enter");
  await idle();
  expect(await height()).toBe(36);
});

test("Shift and Enter make a new line", async () => {
  it.service.script(answer(["ok"]));
  const { input, answers } = await it.visit();
  await input.pressSequentially("one");
  await input.press("Shift+Enter");
  await input.pressSequentially("two");
  await input.press("Enter");
  await eventually(() => answers.innerText(), "ok");
  expect(it.service.received[0]?.body.messages[0]?.content).toBe("one\ntwo");
});

test("by keyboard: open, the focus moves in; Escape closes, the focus returns (W11)", async () => {
  const { page, panel, launcher } = await it.visit({ "data-open": "false" });
  expect(await panel.isVisible()).toBe(false);
  await page.locator("#before").focus();
  await page.keyboard.press("Tab");
  expect(await focused(page)).toBe("Open chat");
  await page.keyboard.press("Enter");
  expect(await panel.isVisible()).toBe(true);
  expect(await focused(page)).toBe("Ask anything…");
  expect(await launcher.getAttribute("aria-expanded")).toBe("true");
  await page.keyboard.press("Escape");
  expect(await focused(page)).toBe("Open chat");
  await panel.waitFor({ state: "hidden" });
});

for (const [attributes, side] of [
  [{}, "right"],
  [{ "data-lang": "ar" }, "left"],
  [{ "data-position": "bottom-left" }, "left"],
  [{ "data-lang": "ar", "data-position": "bottom-right" }, "right"],
] as const) {
  // Firefox is started without motion.
  testInChromium(
    `it grows out of the launcher's corner and back: ${Object.values(attributes).join(", ") || "right"} (W25)`,
    daily("data-lang" in attributes),
    async () => {
      const { page, panel } = await it.visit({ "data-open": "false", ...attributes });
      /** In one step, because a slow machine would miss the motion. */
      const halfway = (): Promise<object> =>
        panel.evaluate((node) => {
          window.ChatWidget?.toggle();
          getComputedStyle(node).opacity;
          for (const animation of node.getAnimations()) animation.currentTime = 80;
          const { scale, transformOrigin, display, opacity } = getComputedStyle(node);
          const [x = 0, y] = transformOrigin.split(" ").map(Number.parseFloat);
          const found = {
            side: x > 0 ? "right" : "left",
            isAtBottom: y === (node as HTMLElement).offsetHeight,
            isSmaller: Number(scale) < 1,
            isFaint: Number(opacity) < 1,
            display,
          };
          for (const animation of node.getAnimations()) animation.finish();
          return found;
        });
      const expected = { side, isAtBottom: true, isSmaller: true, isFaint: true, display: "flex" };
      expect(await halfway()).toEqual(expected);
      // The styles of the way back are in the file for answers.
      await page.locator("kefu-chat").evaluate(async (host) => {
        const sheets = host.shadowRoot?.adoptedStyleSheets;
        while ((sheets?.length ?? 0) < 3) await new Promise(requestAnimationFrame);
      });
      expect(await halfway()).toEqual(expected);
      await panel.waitFor({ state: "hidden" });
    },
  );
}

test("with reduced motion it opens and closes at once (W25)", async () => {
  const { panel } = await it.visit({ "data-open": "false" }, { reducedMotion: "reduce" });
  for (const display of ["flex", "none"]) {
    const found = await panel.evaluate((node) => {
      window.ChatWidget?.toggle();
      return [getComputedStyle(node).display, node.getAnimations().length];
    });
    expect(found).toEqual([display, 0]);
  }
});

test("the dialog has a role and a name, every button has a name (W11)", async () => {
  it.service.script({ acts: [] });
  const { page, send, retry } = await it.visit({ "data-title": "Acme" });
  await page.getByRole("dialog", { name: "Acme" }).waitFor();
  await page.getByRole("textbox", { name: "Ask anything…" }).waitFor();
  await page.getByRole("log", { name: "Conversation" }).waitFor();
  await send("hello");
  await retry.waitFor();
  await page.locator("kefu-chat .tools").waitFor();
  const names = await page
    .locator("kefu-chat button:visible")
    .evaluateAll((buttons) =>
      buttons.map((button) => button.getAttribute("aria-label") ?? button.textContent),
    );
  expect(names).toEqual(["Enlarge", "More", "Close chat", "Retry", "Send", "Close chat"]);
});

test("open from the start, it leaves the focus where the visitor is (W11)", async () => {
  const { page, panel } = await it.visit();
  expect(await panel.isVisible()).toBe(true);
  expect(await page.evaluate(() => document.activeElement === document.body)).toBe(true);
});

test("on a phone data-open does not cover the page, and the opened panel fills it (W10)", async () => {
  const { panel, launcher } = await it.visit({}, { viewport: { width: 390, height: 844 } });
  expect(await panel.isVisible()).toBe(false);
  await launcher.click();
  await pause(250);
  await eventually(() => panel.boundingBox(), { x: 0, y: 0, width: 390, height: 844 });
});

test("typing in the widget does not reach the shortcuts of the page", async () => {
  const { page, input } = await it.visit();
  await page.evaluate(() => {
    Object.assign(globalThis, { heard: 0 });
    document.addEventListener("keydown", () => {
      Object.assign(globalThis, { heard: (globalThis as unknown as { heard: number }).heard + 1 });
    });
  });
  await input.pressSequentially("/s");
  expect(await page.evaluate(() => (globalThis as unknown as { heard: number }).heard)).toBe(0);
});

/** How dialogs of a page hold the focus: Bootstrap 5, focus-trap, and jQuery UI or Materialize. */
const TRAPS: readonly [type: string, capture: boolean][] = [
  ["focusin", false],
  ["focusin", true],
  ["focus", true],
];

for (const [type, capture] of TRAPS) {
  const where = capture ? "on its way down" : "on its way up";
  test(`a dialog of the page that hears ${type} ${where} leaves the chat the focus (W14)`, async () => {
    it.service.script(answer(["ok"]));
    const { page, input, send, answers } = await it.visit();
    await send("before");
    await eventually(() => answers.innerText(), "ok");
    await page.evaluate(
      ([type, capture]) => {
        const dialog = document.createElement("input");
        document.body.append(dialog);
        const hold = ({ target }: Event) => {
          if (target !== dialog) dialog.focus();
        };
        document.addEventListener(type, hold, { capture });
        dialog.focus();
      },
      [type, capture] as const,
    );
    await input.click();
    await page.keyboard.type("hello");
    expect(await input.inputValue()).toBe("hello");
  });
}

test("a page that forbids to copy it leaves the chat the mouse and the context menu (W14)", async () => {
  const { page, input } = await it.visit();
  await page.evaluate(() => {
    // As plugins for WordPress do; they cannot see the text field inside the element of the chat.
    const forbid = ({ target }: Event) => (target as Element).nodeName === "TEXTAREA";
    document.onmousedown = document.oncontextmenu = document.onselectstart = forbid;
  });
  await input.blur();
  await input.click();
  await page.keyboard.type("hello");
  expect(await input.inputValue()).toBe("hello");
  const isShown = (node: Element) =>
    node.dispatchEvent(
      new MouseEvent("contextmenu", { bubbles: true, cancelable: true, composed: true }),
    );
  expect(await input.evaluate(isShown)).toBe(true);
});

test("a press in the chat closes a menu of the page that closes when the mouse is pressed outside (W14)", async () => {
  const { page, panel } = await it.visit();
  await page.evaluate(() => {
    const menu = document.createElement("details");
    menu.open = true;
    document.body.append(menu);
    document.addEventListener("mousedown", ({ target }) => {
      if (!menu.contains(target as Node)) menu.open = false;
    });
  });
  await panel.locator(".log").click();
  expect(await page.locator("details").getAttribute("open")).toBe(null);
});

test("smooth scrolling of the page leaves the chat the wheel (W14)", async () => {
  it.service.script(answer(["line\n\n".repeat(80)]));
  const { page, send, idle } = await it.visit();
  await page.evaluate(() =>
    addEventListener("wheel", (event) => event.preventDefault(), { passive: false }),
  );
  await send("hello");
  await idle();
  const log = page.locator("kefu-chat .log");
  const top = () => log.evaluate((node) => node.scrollTop);
  const end = await top();
  await log.hover();
  await page.mouse.wheel(0, -200);
  await eventually(async () => (await top()) < end, true);
});

test("the first text is on the page as soon as it has arrived, without waiting for a frame (W17)", async () => {
  it.service.script(answer(["First", " and", " last."], 100));
  const { page, send, idle } = await it.visit();
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(window, { seen });
    window.ChatWidget?.on("delta", () => {
      const answers = document
        .querySelector("kefu-chat")
        ?.shadowRoot?.querySelectorAll(".turn .answer");
      seen.push([...(answers ?? [])].at(-1)?.textContent ?? "");
    });
  });
  await send("hello");
  await idle();
  const seen = await page.evaluate(() => (window as unknown as { seen: string[] }).seen);
  expect(seen[0]).toBe("First");
});

test("text is put on the page at most once a frame, and none is lost (W17, W18)", async () => {
  const texts = Array.from({ length: 400 }, (_, i) => `词${i} `);
  it.service.script(
    { acts: [{ send: texts.map(chunk).join("") + finish() + DONE }] },
    answer(texts, 1),
  );
  const { page, send, idle, answers } = await it.visit();
  await page.evaluate(() => {
    const counts = { flushes: 0, frames: 0 };
    Object.assign(globalThis, { counts });
    const root = document.querySelector("kefu-chat")?.shadowRoot;
    if (!root) throw new Error("no widget");
    new MutationObserver((changes) => {
      counts.flushes += changes.filter(({ type }) => type === "characterData").length;
    }).observe(root, { characterData: true, subtree: true });
    const count = (): void => {
      counts.frames += 1;
      requestAnimationFrame(count);
    };
    requestAnimationFrame(count);
  });
  await send("at once");
  await idle();
  expect(await answers.last().textContent()).toBe(texts.join(""));
  await send("in a stream");
  await idle();
  expect(await answers.last().textContent()).toBe(texts.join(""));
  const counts = await page.evaluate(
    () => (globalThis as unknown as { counts: { flushes: number; frames: number } }).counts,
  );
  expect(counts.flushes).toBeGreaterThan(5);
  expect(counts.flushes).toBeLessThanOrEqual(counts.frames + 2);
});

test("it follows the text only while the visitor is at the end (W8)", async () => {
  const lines = Array.from({ length: 60 }, (_, i) => `Line ${i}\n`);
  const held = gate();
  it.service.script({
    acts: [
      { send: lines.map(chunk).join("") },
      held,
      { send: lines.map(chunk).join("") + finish() + DONE },
    ],
  });
  const { page, send, idle } = await it.visit();
  const log = page.locator("kefu-chat .log");
  const gap = (): Promise<number> =>
    log.evaluate((node) => Math.round(node.scrollHeight - node.scrollTop - node.clientHeight));
  await send("hello");
  await eventually(async () => (await log.innerText()).includes("Line 59"), true);
  await eventually(gap, 0);
  await log.hover();
  await page.mouse.wheel(0, -30);
  await eventually(async () => (await gap()) > 0, true);
  const top = await log.evaluate((node) => node.scrollTop);
  held.open();
  await idle();
  expect(await log.evaluate((node) => node.scrollTop)).toBe(top);
});

test("nothing is requested and nothing stored before the visitor asks (W8, W13)", async () => {
  const { page } = await it.visit();
  await pause(300);
  expect(it.service.received).toHaveLength(0);
  const stored = await page.evaluate(() => [
    localStorage.length,
    sessionStorage.length,
    document.cookie,
  ]);
  expect(stored).toEqual([0, 0, ""]);
});

function pageWithout(): string {
  return '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>A shop</title></html>';
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL(url: string): string };
}

/** Puts the widget's script into the page, as the site's own script would. */
async function include(page: Page, apiUrl: string, type: string): Promise<void> {
  await page.evaluate(
    async ([url, kind]) => {
      const { trustedTypes } = globalThis as unknown as { trustedTypes: TrustedTypes };
      const policy = trustedTypes.createPolicy("site", { createScriptURL: (given) => given });
      const script = document.createElement("script");
      script.type = kind;
      script.src = policy.createScriptURL("/chat-widget.js");
      script.dataset.apiUrl = url;
      const loaded = new Promise((resolve) => script.addEventListener("load", resolve));
      document.head.append(script);
      await loaded;
    },
    [apiUrl, type] as const,
  );
}

/** The name of the focused element, inside or outside of the widget. */
function focused(page: Page): Promise<string | null | undefined> {
  return page.evaluate(() => {
    const inner = document.activeElement?.shadowRoot?.activeElement;
    return (inner ?? document.activeElement)?.getAttribute("aria-label");
  });
}
