/** Suggestions, the visitor's consent, and the storage for the next page. */

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer, chunk, inSession, refusal } from "../scripted-service.ts";
import { pageWith } from "../site.ts";
import { daily, eventually, interest, pause, stage, type Visit, visitOf } from "./harness.ts";

const it = stage();

const CONSENT = "I agree that my questions are sent to an AI service.";

/** Longer than a second Enter or click, which is not taken for an agreement. */
const CALM_MS = 600;

function pills(page: Page) {
  return page.locator("kefu-chat .pill");
}

function agree(page: Page) {
  return page.getByRole("button", { name: "Agree" });
}

/** The last message of each request. */
function questions(): (string | undefined)[] {
  return it.service.received.map(({ body }) => body.message ?? body.messages.at(-1)?.content);
}

/** Everything that both storages hold. */
function stored(page: Page): Promise<Record<string, string>[]> {
  return page.evaluate(() => [{ ...sessionStorage }, { ...localStorage }]);
}

test("a suggestion is sent with one click, once, and then all of them are gone (W1, W8)", async () => {
  it.service.script(answer(["Yes."]));
  const { page, answers, idle, errors } = await it.visit({
    "data-suggestions": "Do you ship to Norway?|<b>Returns</b>",
  });
  expect(await pills(page).allInnerTexts()).toEqual(["Do you ship to Norway?", "<b>Returns</b>"]);
  const [above, composer] = await Promise.all([
    pills(page).last().boundingBox(),
    page.locator("kefu-chat .composer").boundingBox(),
  ]);
  expect((above?.y ?? 0) + (above?.height ?? 0)).toBeLessThan(composer?.y ?? 0);
  await pills(page).first().dblclick({ noWaitAfter: true });
  await eventually(() => answers.innerText(), "Yes.");
  await idle();
  expect(await page.locator("kefu-chat .suggestions").count()).toBe(0);
  expect(questions()).toEqual(["Do you ship to Norway?"]);
  expect(errors).toEqual([]);
});

test("by keyboard: the suggestions come before the input; Enter sends, and the focus goes there (W11)", async () => {
  it.service.script(answer(["Yes."]));
  const { page, input, idle } = await it.visit({
    "data-suggestions": "[&quot;One?&quot;, &quot;Two?&quot;]",
  });
  await page.getByRole("group", { name: "Suggested questions" }).waitFor();
  await input.focus();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await idle();
  expect(questions()).toEqual(["Two?"]);
  expect(await input.evaluate((node: HTMLElement) => node.matches(":focus"))).toBe(true);
});

test("a question of the visitor's own ends the suggestions too, for the next page as well (W1)", async () => {
  it.service.script(answer(["Yes."]));
  const { page, send, idle, answers } = await it.visit({ "data-suggestions": "One?" });
  await send("hello");
  expect(await pills(page).count()).toBe(0);
  await idle();
  await page.reload();
  await eventually(() => answers.innerText(), "Yes.");
  expect(await pills(page).count()).toBe(0);
});

test("six long suggestions leave room for the conversation and the input on a small phone (W10)", async () => {
  const { page, launcher, input } = await it.visit(
    { "data-suggestions": Array(6).fill("W".repeat(80)).join("|"), "data-consent": CONSENT },
    { viewport: { width: 320, height: 568 } },
  );
  await launcher.click();
  await pause(250);
  const box = await input.boundingBox();
  expect((box?.y ?? 999) + (box?.height ?? 999)).toBeLessThanOrEqual(568);
  expect((await page.locator("kefu-chat .log").boundingBox())?.height).toBeGreaterThan(80);
  const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  expect(isWide).toBe(false);
});

test("suggestions that cannot be used: one warning, no error, the widget as without (W1)", async () => {
  const context = await it.browser.newContext();
  const page = await context.newPage();
  const said: string[] = [];
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  const attributes = {
    "data-api-url": it.service.url,
    "data-suggestions": "[1, 2",
    "data-open": "",
  };
  await page.goto(it.site.page("/", pageWith(attributes)));
  await page.locator("kefu-chat textarea").waitFor();
  expect(said).toEqual([expect.stringMatching(/^warning: Chat widget: data-suggestions: /)]);
  expect(await page.locator("kefu-chat .suggestions").isVisible()).toBe(false);
});

/** Every way to send, up to the moment where the visitor has to agree. */
const WAYS: Readonly<Record<string, (visit: Visit) => Promise<void>>> = {
  Enter: ({ send }) => send("hello"),
  "the button": async ({ input, act }) => {
    await input.fill("hello");
    await act.dblclick();
  },
  "a suggestion": ({ page }) => pills(page).first().dblclick(),
  "a script of the page": async ({ page, input }) => {
    await input.fill("hello");
    await page.evaluate(() => {
      const root = document.querySelector("kefu-chat")?.shadowRoot;
      root?.querySelector("form")?.requestSubmit();
      root?.querySelector<HTMLElement>(".act")?.click();
    });
  },
};

for (const [name, act] of Object.entries(WAYS)) {
  test(
    `consent: ${name} sends nothing and stores nothing before it, and once after it (W1)`,
    daily(name === "Enter" || name === "a script of the page"),
    async () => {
      it.service.script(answer(["Hi."]));
      const visit = await it.visit({ "data-consent": CONSENT, "data-suggestions": "hello" });
      const { page, answers, idle, input, errors } = visit;
      await page.getByText(CONSENT).waitFor();
      await act(visit);
      await pause(CALM_MS);
      expect(questions()).toEqual([]);
      expect(await stored(page)).toEqual([{}, {}]);
      await agree(page).click();
      await eventually(() => answers.innerText(), "Hi.");
      await idle();
      expect(questions()).toEqual(["hello"]);
      expect(await input.inputValue()).toBe("");
      expect(await page.getByText(CONSENT).count()).toBe(0);
      expect(errors).toEqual([]);
    },
  );
}

test("consent by keyboard: the focus goes to Agree, and a hasty second Enter does not agree (W1, W11)", async () => {
  it.service.script(answer(["Hi."]));
  const { page, input, idle } = await it.visit({ "data-consent": CONSENT });
  await input.fill("hello");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.keyboard.down("Enter");
  await page.keyboard.down("Enter");
  await pause(CALM_MS);
  await page.keyboard.down("Enter");
  await page.keyboard.up("Enter");
  expect(questions()).toEqual([]);
  expect(await agree(page).evaluate((node) => node.matches(":focus"))).toBe(true);
  expect(await input.inputValue()).toBe("hello");
  await page.keyboard.press("Enter");
  await idle();
  await eventually(questions, ["hello"]);
  expect(await input.evaluate((node: HTMLElement) => node.matches(":focus"))).toBe(true);
});

test("consent given before anything was written sends nothing by itself (W1)", async () => {
  it.service.script(answer(["Hi."]));
  const { page, input, send, idle } = await it.visit({ "data-consent": CONSENT });
  await input.fill("only a draft");
  await agree(page).click();
  await pause(200);
  expect(questions()).toEqual([]);
  await send("hello");
  await idle();
  expect(questions()).toEqual(["hello"]);
});

/** data-persist -> whether the consent of one page holds on the next. */
for (const [persist, holds] of [
  ["session", true],
  ["local", true],
  ["none", false],
] as const) {
  test(
    `consent, data-persist=${persist}: ${holds ? "kept" : "asked again"} on the next page (W1)`,
    daily(persist !== "local"),
    async () => {
      const attributes = { "data-consent": CONSENT, "data-persist": persist };
      const { page, input, errors } = await it.visit(attributes);
      await agree(page).click();
      await page.reload();
      await input.waitFor();
      expect(await agree(page).count()).toBe(holds ? 0 : 1);
      const html = pageWith({
        "data-api-url": it.service.url,
        "data-open": "",
        "data-lang": "en",
        "data-persist": persist,
        "data-consent": "I agree to something else.",
      });
      await page.goto(it.site.page("/other", html));
      await agree(page).waitFor();
      expect(errors).toEqual([]);
    },
  );
}

test("a reload in the session shows the conversation again, and the next request carries it (W8)", async () => {
  it.service.script(answer(["**one**"]), answer(["two"]));
  const { page, send, idle, answers, input, panel, trouble, errors } = await it.visit();
  await send("<i>first</i>");
  await idle();
  // If a reload cuts the file for answers off, Firefox reports the hash of an empty file.
  await page.locator("kefu-chat .tools").waitFor();
  await page.reload();
  await input.waitFor();
  expect(await answers.allInnerTexts()).toEqual(["one"]);
  expect(await page.locator("kefu-chat .question").textContent()).toContain("<i>first</i>");
  expect(await trouble.count()).toBe(0);
  expect(await page.locator("kefu-chat [role=status]").textContent()).toBe("");
  expect(it.service.received).toHaveLength(1);
  await send("second");
  await idle();
  expect(it.service.received[1]?.body.messages).toEqual([
    { role: "user", content: "<i>first</i>" },
    { role: "assistant", content: "**one**" },
    { role: "user", content: "second" },
  ]);
  const [session, local] = await stored(page);
  expect(Object.keys(session ?? {})).toEqual([`kefu-chat:1:${it.service.url}`]);
  expect(local).toEqual({});
  expect(await panel.isVisible()).toBe(true);
  expect(errors).toEqual([]);
});

test("the open state is kept too, from the first message on (W8)", async () => {
  it.service.script(answer(["one"]));
  const { page, send, idle, launcher, panel } = await it.visit();
  await launcher.click();
  await page.reload();
  await panel.waitFor();
  expect(await stored(page)).toEqual([{}, {}]);
  await send("hello");
  await idle();
  await launcher.click();
  await page.reload();
  await launcher.waitFor();
  expect(await panel.isVisible()).toBe(false);
});

test("a long conversation that is restored is shown at its end (W8)", async () => {
  it.service.script(answer([Array.from({ length: 60 }, (_, i) => `Line ${i}\n`).join("")]));
  const { page, send, idle, launcher } = await it.visit();
  await send("hello");
  await idle();
  const log = page.locator("kefu-chat .log");
  const gap = (): Promise<number> =>
    log.evaluate((node) => Math.round(node.scrollHeight - node.scrollTop - node.clientHeight));
  await page.reload();
  await log.waitFor();
  expect(await gap()).toBe(0);
  await launcher.click();
  await page.reload();
  await launcher.click();
  expect(await gap()).toBe(0);
});

test("an answer that the page was left in is restored as far as it came, and not asked again (W1, W7)", async () => {
  it.service.script({ acts: [{ send: chunk("half an ans") }, "silence"] }, answer(["whole"]));
  const { page, send, answers, retry, idle, errors } = await it.visit();
  await send("hello");
  await eventually(() => answers.innerText(), "half an ans");
  // If a reload cuts the file for answers off, Firefox reports the hash of an empty file.
  await page.locator("kefu-chat .tools").waitFor();
  await page.reload();
  await eventually(() => answers.allInnerTexts(), ["half an ans"]);
  await pause(300);
  expect(questions()).toEqual(["hello"]);
  await retry.click();
  await idle();
  expect(await answers.allInnerTexts()).toEqual(["whole"]);
  expect(questions()).toEqual(["hello", "hello"]);
  expect(errors).toEqual([]);
});

test("a page that is hidden during an answer stores the text so far: it may never return (W1)", async () => {
  it.service.script({ acts: [{ send: chunk("half an ans") }, "silence"] });
  const { page, send, answers } = await it.visit();
  await send("hello");
  await eventually(() => answers.innerText(), "half an ans");
  expect(JSON.stringify(await stored(page))).not.toContain("half an ans");
  // No headless tab is ever hidden.
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { get: () => true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  expect(JSON.stringify(await stored(page))).toContain("half an ans");
});

test("consent: asked for later, by another page, Retry waits for it too (W1)", async () => {
  it.service.script(refusal(503, "upstream_service_unavailable"), answer(["Hi."]));
  const { page, send, retry, answers } = await it.visit();
  await send("hello");
  await retry.waitFor();
  const html = pageWith({
    "data-api-url": it.service.url,
    "data-lang": "en",
    "data-consent": CONSENT,
  });
  await page.goto(it.site.page("/other", html));
  await retry.click();
  await pause(CALM_MS);
  expect(questions()).toEqual(["hello"]);
  await agree(page).click();
  await eventually(() => answers.innerText(), "Hi.");
  expect(questions()).toEqual(["hello", "hello"]);
});

test("two tabs with data-persist=local: both continue, and one whole conversation is stored (W1)", async () => {
  it.service.script(answer(["one"]), answer(["two"]), answer(["three"]), answer(["four"]));
  const first = await it.visit({ "data-persist": "local" });
  await first.send("1");
  await first.idle();
  const second = visitOf(await first.page.context().newPage(), first.errors);
  await second.page.goto(first.page.url());
  await eventually(() => second.answers.allInnerTexts(), ["one"]);
  await second.send("2");
  await second.idle();
  // A tab that only opens and closes its panel loses nothing of the other. Chromium's processes tell
  // each other of writes to localStorage a moment later.
  await first.page.bringToFront();
  await eventually(() => first.page.evaluate(() => /two/.test(JSON.stringify(localStorage))), true);
  await first.launcher.click();
  await first.launcher.click();
  await second.page.reload();
  await eventually(() => second.answers.allInnerTexts(), ["one", "two"]);
  await Promise.all([first.send("3"), second.send("4")]);
  await Promise.all([first.idle(), second.idle()]);
  const third = visitOf(await first.page.context().newPage(), first.errors);
  await third.page.goto(first.page.url());
  await third.input.waitFor();
  const shown = (await third.answers.allInnerTexts()).length;
  expect([2, 3]).toContain(shown);
  expect(await third.page.locator("kefu-chat .question").count()).toBe(shown);
  expect(await third.trouble.count()).toBe(0);
  expect(first.errors).toEqual([]);
});

test("data-persist=none stores nothing and removes nothing (W1)", async () => {
  it.service.script(answer(["one"]), answer(["two"]), answer(["three"]));
  const { page, send, idle, answers, input, launcher } = await it.visit({
    "data-persist": "none",
    "data-consent": CONSENT,
  });
  await agree(page).click();
  await send("hello");
  await idle();
  await launcher.click();
  await page.reload();
  await launcher.waitFor();
  expect(await stored(page)).toEqual([{}, {}]);
  expect(await answers.count()).toBe(0);
  const key = `kefu-chat:1:${it.service.url}`;
  await page.evaluate((name) => sessionStorage.setItem(name, "of another page"), key);
  await page.reload();
  await agree(page).click();
  await input.fill("again");
  await input.press("Enter");
  await idle();
  expect(await stored(page)).toEqual([{ [key]: "of another page" }, {}]);
});

for (const persist of ["session", "local"]) {
  test(
    `blocked storage, data-persist=${persist}: it works, without an error (W10)`,
    daily(persist === "local"),
    async () => {
      it.service.script(answer(["one"]), answer(["two"]));
      const html = pageWith({
        "data-api-url": it.service.url,
        "data-open": "",
        "data-lang": "en",
        "data-persist": persist,
        "data-consent": CONSENT,
      });
      // A sandboxed page has an origin of its own, and no storage.
      const url = it.site.page("/sandboxed", html, "; sandbox allow-scripts");
      const { page, send, idle, answers, errors, launcher } = await it.open(url);
      const denied = await page.evaluate(() => {
        try {
          return sessionStorage.length + localStorage.length;
        } catch (error) {
          return (error as DOMException).name;
        }
      });
      expect(denied).toBe("SecurityError");
      await agree(page).click();
      await send("hello");
      await idle();
      await launcher.click();
      await launcher.click();
      await send("again");
      await idle();
      expect(await answers.allInnerTexts()).toEqual(["one", "two"]);
      expect(errors).toEqual([]);
    },
  );
}

for (const isStored of [true, false]) {
  test(`back on a page that the browser has kept: the chat has what other pages added; stored: ${isStored} (W1)`, async () => {
    const play = (text: string) =>
      isStored ? inSession(answer([text]), "s1", "t1") : answer([text]);
    it.service.script(...["one", "two", "three"].map(play), answer(["new"]));
    const html = pageWith({
      "data-api-url": it.service.url,
      "data-open": "",
      "data-lang": "en",
      "data-persist": "local",
    });
    const first = await it.open(it.site.page("/", html));
    const ask = async ({ send, idle }: Visit, question: string) => {
      await send(question);
      await idle();
    };
    // Chromium's headless shell keeps no page: another tab stands for the pages after this one.
    const back = ({ page }: Visit) =>
      page.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));
    await ask(first, "first");
    it.service.kept = [
      { role: "user", content: "first", status: "ok" },
      { role: "assistant", content: "one", status: "ok" },
    ];
    const tab = await first.page.context().newPage();
    await tab.goto(first.page.url());
    await interest(tab);
    const second = visitOf(tab, first.errors);
    await ask(second, "second");
    await back(first);
    await eventually(() => first.answers.allInnerTexts(), ["one", "two"]);
    await ask(first, "third");
    expect(await first.answers.allInnerTexts()).toEqual(["one", "two", "three"]);
    await back(second);
    await eventually(() => second.answers.allInnerTexts(), ["one", "two", "three"]);
    // Nothing was added: what the visitor has open is not drawn anew.
    await first.page.evaluate(() => {
      document
        .querySelector("kefu-chat")
        ?.shadowRoot?.querySelector(".turn")
        ?.classList.add("same");
    });
    await back(first);
    expect(await first.page.locator("kefu-chat .same").count()).toBe(1);
    await tab.evaluate(() => window.ChatWidget?.reset());
    await back(first);
    await eventually(() => first.page.locator("kefu-chat .turn").count(), 0);
    await ask(first, "of another chat");
    const body = it.service.received.at(-1)?.body;
    expect([body?.session_id, body?.messages?.length ?? 1]).toEqual([undefined, 1]);
    expect(first.errors).toEqual([]);
  });
}

test("full storage: it works, without an error (W10)", async () => {
  it.service.script(answer(["one"]), answer(["two"]));
  const { page, send, idle, answers, errors } = await it.visit();
  const isFull = await page.evaluate(() => {
    for (let size = 1 << 22; size >= 1; size >>= 1) {
      try {
        for (let i = 0; ; i++) sessionStorage.setItem(`${size}-${i}`, "x".repeat(size));
      } catch {
        // This size does not fit any more.
      }
    }
    return true;
  });
  expect(isFull).toBe(true);
  await send("hello");
  await idle();
  await send("again");
  await idle();
  expect(await answers.allInnerTexts()).toEqual(["one", "two"]);
  expect((await stored(page))[0]).not.toHaveProperty(`kefu-chat:1:${it.service.url}`);
  expect(errors).toEqual([]);
});

test("a corrupt record counts as none, and is replaced by the next message (W10)", async () => {
  it.service.script(answer(["one"]));
  const { page, send, idle, answers, input, errors } = await it.visit();
  const key = `kefu-chat:1:${it.service.url}`;
  await page.evaluate((name) => sessionStorage.setItem(name, '{"turns":[{"id":'), key);
  await page.reload();
  await input.waitFor();
  expect(await answers.count()).toBe(0);
  await send("hello");
  await idle();
  await page.reload();
  await eventually(() => answers.allInnerTexts(), ["one"]);
  expect(errors).toEqual([]);
});

test("after an hour a turn has its time above it, also on the next page (W24)", async () => {
  it.service.script(answer(["one"]), answer(["two"]), answer(["three"]));
  const { page, send, idle } = await it.visit();
  await page.clock.install();
  const times = () =>
    page
      .locator("kefu-chat .turn")
      .evaluateAll((turns) => turns.map((turn) => !!turn.querySelector(":scope > time")));
  for (const question of ["1", "2"]) {
    await send(question);
    await idle();
  }
  await page.clock.fastForward("01:01:00");
  await send("3");
  await eventually(times, [false, false, true]);
  await idle();
  await page.reload();
  await eventually(times, [true, false, true]);
});
