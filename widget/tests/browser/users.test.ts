/** A site whose visitors sign in: no user sees, sends or stores a word of another (T16). */

import type { BrowserContext, Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer, chunk, gate, inSession, PING, type Play, refusal } from "../scripted-service.ts";
import { pageWith } from "../site.ts";
import { tokenOf } from "../user-token.ts";
import {
  daily,
  eventually,
  interest,
  pause,
  stage,
  testInChromium,
  type Visit,
  visitOf,
} from "./harness.ts";
import { jpeg, photo, upload } from "./photos.ts";

const it = stage();

/** Ann's secrets: in her question, in its answer, and in her draft. */
const ASKED = "Ann-asked-this";
const TOLD = "Ann-was-told-this";
const DRAFT = "Ann-writes-this";

const HOUR = 3_600;
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds;

type Persist = "session" | "local" | "none";

/** The content of the page and its storage, including the widget. */
async function words(page: Page): Promise<string> {
  return page.evaluate(() => {
    const root = document.querySelector("kefu-chat")?.shadowRoot;
    const input = root?.querySelector("textarea")?.value;
    const labels = [...(root?.querySelectorAll("[aria-label]") ?? [])].map(
      (node) => node.ariaLabel,
    );
    const stores = [{ ...sessionStorage }, { ...localStorage }];
    return JSON.stringify([root?.textContent, input, labels, stores]);
  });
}

/** The site says who is signed in by a cookie, which its tabs share. */
async function signIn(context: BrowserContext, token: string | undefined): Promise<void> {
  await context.clearCookies();
  if (token !== undefined) {
    await context.addCookies([{ name: "user", value: token, url: it.site.origin }]);
  }
}

/** Each text that was ever in the widget of a page, however short. */
function shown(page: Page): Promise<string> {
  return page.evaluate(() => (globalThis as unknown as { shown: string[] }).shown.join("\n"));
}

/** Prepares the site's own script: the token by a function, and a record of the shown texts. */
async function prepare(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const userToken = (): string | undefined => /user=([^;]+)/.exec(document.cookie)?.[1];
    const texts: string[] = [];
    Object.assign(globalThis, { ChatWidgetConfig: { userToken }, shown: texts });
    const attach = Element.prototype.attachShadow;
    Element.prototype.attachShadow = function (init) {
      const root = attach.call(this, init);
      new MutationObserver(() => texts.push(root.textContent ?? "")).observe(root, {
        childList: true,
        characterData: true,
        subtree: true,
      });
      return root;
    };
  });
}

function keeping(...plays: readonly Play[]): void {
  it.service.script(...plays);
  it.service.kept = [
    { role: "user", content: ASKED, status: "ok" },
    { role: "assistant", content: TOLD, status: "ok" },
  ];
  it.service.owner = "ann";
}

const ofAnn = (play: Play): Play => inSession(play, "s-ann", "t-ann");
const ofBob = (play: Play): Play => inSession(play, "s-bob", "t-bob");

const sent = () =>
  it.service.received.map(({ body, headers }) => [
    body.message ?? body.messages.map(({ content }) => content).join(" | "),
    body.session_id,
    headers["x-session-token"],
  ]);

/** Ann has asked one question; her panel is open, her next one half written. */
async function visitOfAnn(persist: Persist = "session", more = {}): Promise<Visit> {
  const context = await it.browser.newContext({ reducedMotion: "reduce" });
  // It runs as any other, until a test stops it.
  await context.clock.install();
  await prepare(context);
  await signIn(context, tokenOf("ann"));
  const visit = visitOf(await context.newPage(), []);
  visit.page.on("pageerror", (error) => visit.errors.push(String(error)));
  const tag = {
    "data-api-url": it.service.url,
    "data-open": "",
    "data-lang": "en",
    "data-persist": persist,
    "data-stall-timeout": "30",
    ...more,
  };
  await visit.page.goto(it.site.page("/", pageWith(tag)));
  await interest(visit.page);
  return visit;
}

/** Stops the clock of the page, so that no timer detects a change. */
async function stopTimers(page: Page): Promise<void> {
  await page.clock.pauseAt(Date.now() + 2_000);
}

/** Advances the clock of the page by a number of seconds, second by second. */
async function later(page: Page, seconds: number): Promise<void> {
  await page.clock.runFor(seconds * 1_000);
}

async function asked(visit: Visit): Promise<Visit> {
  await visit.send(ASKED);
  await eventually(() => visit.answers.innerText(), TOLD);
  await visit.idle();
  return visit;
}

async function annsWords(visit: Visit): Promise<readonly string[]> {
  const all = await words(visit.page);
  return [ASKED, TOLD, DRAFT, "s-ann", "t-ann"].filter((word) => all.includes(word));
}

for (const persist of ["session", "local", "none"] as const) {
  for (const keeps of [true, false]) {
    const where = `data-persist=${persist}, ${keeps ? "kept" : "stateless"} chats`;
    const isDaily = persist === (keeps ? "session" : "local");

    test(
      `the next user in the same tab finds nothing, not for a moment (${where})`,
      daily(isDaily),
      async () => {
        if (keeps) keeping(ofAnn(answer([TOLD])), ofBob(answer(["Hello Bob"])));
        else it.service.script(answer([TOLD]), answer(["Hello Bob"]));
        const visit = await asked(await visitOfAnn(persist));
        const { page, send, idle, answers, errors } = visit;
        await signIn(page.context(), tokenOf("bob"));
        // A check in that file would leave the chat visible until the file is loaded.
        await page.route(/widget-answer/, async (route) => {
          await pause(400);
          await route.continue();
        });
        await page.reload();
        await interest(page);
        expect(await annsWords(visit)).toEqual([]);
        await send("Bob asks");
        await eventually(() => answers.allInnerTexts(), ["Hello Bob"]);
        await idle();
        expect(sent()[1]).toEqual(["Bob asks", undefined, undefined]);
        expect(await annsWords(visit)).toEqual([]);
        expect(await shown(page)).not.toMatch(/Ann-/);
        expect(it.service.looked.filter((request) => request.includes("s-ann"))).toEqual([]);
        expect(errors).toEqual([]);
      },
    );

    test(
      `the user changes while the page lives: cleared without any act of theirs (${where})`,
      daily(isDaily),
      async () => {
        if (keeps) keeping(ofAnn(answer([TOLD])), ofBob(answer(["Hello Bob"])));
        else it.service.script(answer([TOLD]), answer(["Hello Bob"]));
        const visit = await asked(await visitOfAnn(persist));
        const { page, send, idle, answers, input, panel, errors } = visit;
        await input.fill(DRAFT);
        await signIn(page.context(), undefined);
        await eventually(() => annsWords(visit), []);
        expect(await panel.isVisible()).toBe(true);
        await signIn(page.context(), tokenOf("bob"));
        await send("Bob asks");
        await eventually(() => answers.allInnerTexts(), ["Hello Bob"]);
        await idle();
        expect(sent()[1]).toEqual(["Bob asks", undefined, undefined]);
        await page.reload();
        await interest(page);
        expect(await annsWords(visit)).toEqual([]);
        expect(errors).toEqual([]);
      },
    );
  }
}

test("the same user continues: on the next page, with a renewed token, and with the stored chat", async () => {
  keeping(ofAnn(answer([TOLD])), ofAnn(answer(["More for Ann"])));
  const { page, send, idle, answers } = await asked(await visitOfAnn());
  await signIn(page.context(), tokenOf("ann", inSeconds(2 * HOUR)));
  await page.reload();
  await interest(page);
  expect(await answers.allInnerTexts()).toEqual([TOLD]);
  await send("Ann again");
  await idle();
  expect(sent()[1]).toEqual(["Ann again", "s-ann", "t-ann"]);
});

/** Bob's first action, before the page detects the change by itself. */
const ACTS: Readonly<Record<string, (visit: Visit) => Promise<unknown>>> = {
  "opens the panel": ({ launcher }) => launcher.click(),
  "comes back to the tab": ({ page }) =>
    page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))),
  "focuses the window": ({ page }) => page.evaluate(() => window.dispatchEvent(new Event("focus"))),
  "asks by a script of the page": ({ page }) =>
    page.evaluate(() => (globalThis as unknown as Handle).ChatWidget.send("Bob asks")),
};
interface Handle {
  ChatWidget: { send(text: string): void; close(): void };
}

for (const [what, act] of Object.entries(ACTS)) {
  test(
    `another user ${what}: cleared before anything is shown or sent`,
    daily(what === "asks by a script of the page"),
    async () => {
      keeping(ofAnn(answer([TOLD])), ofBob(answer(["Hello Bob"])));
      const visit = await asked(await visitOfAnn());
      const { page, input, errors } = visit;
      await input.fill(DRAFT);
      await page.evaluate(() => (globalThis as unknown as Handle).ChatWidget.close());
      await stopTimers(page);
      await signIn(page.context(), tokenOf("bob"));
      await act(visit);
      expect(await annsWords(visit)).toEqual([]);
      if (what.startsWith("asks")) {
        await page.clock.runFor(500);
        await eventually(() => sent()[1], ["Bob asks", undefined, undefined]);
      }
      expect(errors).toEqual([]);
    },
  );
}

test("the first key of another user meets an empty field, and Ctrl+Z brings nothing back", async () => {
  keeping(ofAnn(answer([TOLD])));
  const visit = await asked(await visitOfAnn());
  const { page, input } = visit;
  await input.pressSequentially(DRAFT);
  await stopTimers(page);
  await signIn(page.context(), tokenOf("bob"));
  await page.keyboard.type("Hi");
  expect(await input.inputValue()).toBe("Hi");
  for (let times = 0; times < 5; times += 1) {
    await page.keyboard.press("Control+z");
    expect("Hi".startsWith(await input.inputValue())).toBe(true);
  }
  expect(await annsWords(visit)).toEqual([]);
});

// In Firefox, Playwright puts text in by a script, so the event `beforeinput` is missing.
testInChromium(
  "text that another user has put in without a key is theirs, and is sent as theirs",
  async () => {
    keeping(ofAnn(answer([TOLD])), ofBob(answer(["Hello Bob"])));
    const visit = await asked(await visitOfAnn());
    await stopTimers(visit.page);
    await signIn(visit.page.context(), tokenOf("bob"));
    await visit.send("Bob asks");
    // The clock of the page moves only here, and the answer may still be on its way.
    await eventually(async () => {
      await later(visit.page, 0.1);
      return visit.answers.allInnerTexts();
    }, ["Hello Bob"]);
    expect(sent()[1]).toEqual(["Bob asks", undefined, undefined]);
  },
);

for (const persist of ["session", "local"] as const) {
  test(
    `an answer that is under way when the user changes is aborted, cancelled and not stored (${persist})`,
    daily(persist === "session"),
    async () => {
      keeping(ofAnn({ acts: [{ send: chunk(TOLD) }, "silence"] }));
      const visit = await visitOfAnn(persist);
      await visit.send(ASKED);
      await eventually(() => visit.answers.innerText(), TOLD);
      await signIn(visit.page.context(), tokenOf("bob"));
      await eventually(() => annsWords(visit), []);
      await eventually(() => it.service.received[0]?.isAborted, true);
      await eventually(
        () => it.service.cancelled,
        [it.service.received[0]?.body.client_message_id as string],
      );
      await visit.idle();
      await pause(200);
      expect(await annsWords(visit)).toEqual([]);
      expect(await visit.trouble.count()).toBe(0);
      expect(visit.errors).toEqual([]);
    },
  );
}

test("an answer that ends after the user has changed is neither stored nor an event", async () => {
  const held = gate();
  const whole = answer([TOLD]).acts;
  keeping(ofAnn({ acts: [{ send: chunk("Once ") }, held, ...whole] }));
  const visit = await visitOfAnn("local");
  await visit.send(ASKED);
  await eventually(() => visit.answers.innerText(), "Once");
  await stopTimers(visit.page);
  await visit.page.evaluate(() => {
    Object.assign(globalThis, { told: [] });
    document.addEventListener("chat-widget:message", (event) =>
      (globalThis as unknown as { told: unknown[] }).told.push((event as CustomEvent).detail),
    );
  });
  await signIn(visit.page.context(), tokenOf("bob"));
  held.open();
  await eventually(() => annsWords(visit), []);
  expect(
    await visit.page.evaluate(() => (globalThis as unknown as { told: unknown[] }).told),
  ).toEqual([]);
});

test("a retry that waits is not sent for another user", async () => {
  keeping(refusal(429, "rate_limit_exceeded", { "Retry-After": "2" }), ofBob(answer(["never"])));
  const visit = await visitOfAnn();
  await visit.send(ASKED);
  await visit.trouble.waitFor();
  await signIn(visit.page.context(), tokenOf("bob"));
  await pause(2_500);
  expect(it.service.received).toHaveLength(1);
  expect(await annsWords(visit)).toEqual([]);
});

test("two tabs, data-persist=local: when another user signs in, neither shows a word of the last one", async () => {
  keeping(ofAnn(answer([TOLD])), ofBob(answer(["Hello Bob"])));
  const first = await asked(await visitOfAnn("local"));
  const second = visitOf(await first.page.context().newPage(), first.errors);
  await second.page.goto(first.page.url());
  await interest(second.page);
  expect(await second.answers.allInnerTexts()).toEqual([TOLD]);
  await signIn(first.page.context(), tokenOf("bob"));
  await eventually(() => annsWords(second), []);
  await eventually(() => annsWords(first), []);
  await second.send("Bob asks");
  await eventually(() => second.answers.allInnerTexts(), ["Hello Bob"]);
  await second.idle();
  [it.service.kept, it.service.owner] = [[], "bob"];
  await first.page.reload();
  await interest(first.page);
  await eventually(() => first.answers.allInnerTexts(), ["Hello Bob"]);
  expect(await annsWords(first)).toEqual([]);
  expect(first.errors).toEqual([]);
});

test("two tabs, data-persist=local: a tab that does not notice is cleared when the other stores a chat", async () => {
  keeping(ofAnn(answer([TOLD])), ofBob(answer(["Hello Bob"])));
  const first = await asked(await visitOfAnn("local", { "data-user-token": tokenOf("ann") }));
  const second = visitOf(await first.page.context().newPage(), first.errors);
  const tag = { "data-api-url": it.service.url, "data-open": "", "data-persist": "local" };
  const bobs = pageWith({ ...tag, "data-user-token": tokenOf("bob") });
  await second.page.goto(it.site.page("/bob", bobs));
  await interest(second.page);
  await eventually(() => annsWords(first), []);
  expect(await annsWords(second)).toEqual([]);
  await second.send("Bob asks");
  await eventually(() => second.answers.allInnerTexts(), ["Hello Bob"]);
  await second.idle();
  [it.service.kept, it.service.owner] = [[], "bob"];
  await second.page.reload();
  await interest(second.page);
  expect(await second.answers.allInnerTexts()).toEqual(["Hello Bob"]);
});

test("two tabs of one user, data-persist=local: a new chat in one leaves the other alone", async () => {
  it.service.script(answer([TOLD]));
  const first = await asked(await visitOfAnn("local"));
  const second = visitOf(await first.page.context().newPage(), first.errors);
  await second.page.goto(first.page.url());
  await interest(second.page);
  await second.page.getByRole("button", { name: "More" }).click();
  await second.page.getByRole("menuitem", { name: "New chat" }).click();
  await pause(300);
  expect(await first.answers.allInnerTexts()).toEqual([TOLD]);
});

test("a token that expires in mid-chat and is renewed by the page keeps chat and draft", async () => {
  keeping(ofAnn(answer([TOLD])), ofAnn(answer(["More for Ann"])));
  const visit = await asked(await visitOfAnn());
  const { page, input, answers } = visit;
  await signIn(page.context(), tokenOf("ann", inSeconds(5)));
  await input.fill(DRAFT);
  await later(page, 20);
  expect(await answers.allInnerTexts()).toEqual([TOLD]);
  await signIn(page.context(), tokenOf("ann", inSeconds(HOUR)));
  await later(page, 60);
  expect(await answers.allInnerTexts()).toEqual([TOLD]);
  expect(await input.inputValue()).toBe(DRAFT);
  await input.press("Enter");
  await later(page, 1);
  await eventually(() => sent()[1], [DRAFT, "s-ann", "t-ann"]);
});

test("a token that expires and is not renewed clears chat and storage; a draft waits for its writer", async () => {
  keeping(ofAnn(answer([TOLD])), answer(["Hello again"]));
  const visit = await asked(await visitOfAnn("local"));
  const { page, input } = visit;
  await signIn(page.context(), tokenOf("ann", inSeconds(5)));
  await input.fill(DRAFT);
  await later(page, 60);
  expect(await annsWords(visit)).toEqual([DRAFT]);
  expect(await input.inputValue()).toBe(DRAFT);
  await signIn(page.context(), tokenOf("bob", inSeconds(HOUR)));
  await later(page, 2);
  expect(await annsWords(visit)).toEqual([]);
});

test("two tabs, data-persist=local: the token of one expires, and the other continues", async () => {
  keeping(ofAnn(answer([TOLD])), ofAnn(answer(["More for Ann"])));
  const soon = { "data-user-token": tokenOf("ann", inSeconds(20)) };
  const first = await asked(await visitOfAnn("local", soon));
  const second = visitOf(await first.page.context().newPage(), first.errors);
  const tag = { "data-api-url": it.service.url, "data-open": "", "data-persist": "local" };
  const fresh = { ...tag, "data-lang": "en", "data-user-token": tokenOf("ann") };
  await second.page.goto(it.site.page("/fresh", pageWith(fresh)));
  await interest(second.page);
  await later(first.page, 60);
  expect(await first.answers.count()).toBe(0);
  await pause(300);
  expect(await second.answers.allInnerTexts()).toEqual([TOLD]);
  await second.send("Ann again");
  await eventually(() => sent()[1], ["Ann again", "s-ann", "t-ann"]);
  expect(first.errors).toEqual([]);
});

test("a page that is loaded with an expired token restores nothing, and stores nothing", async () => {
  keeping(ofAnn(answer([TOLD])), refusal(403, "identity_rejected"));
  const visit = await asked(await visitOfAnn("local"));
  await signIn(visit.page.context(), tokenOf("ann", inSeconds(-60)));
  await visit.page.reload();
  await interest(visit.page);
  expect(await annsWords(visit)).toEqual([]);
  await visit.send("Ann again");
  await visit.trouble.waitFor();
  expect(sent()[1]).toEqual(["Ann again", undefined, undefined]);
  expect(await visit.page.evaluate(() => localStorage.length)).toBe(0);
});

test("a function that throws has signed the user out: cleared, and nothing is sent while it does", async () => {
  keeping(ofAnn(answer([TOLD])), ofBob(answer(["Hello Bob"])));
  const visit = await asked(await visitOfAnn());
  const { page, send, trouble, retry, answers } = visit;
  await page.evaluate(() => {
    const userToken = (): string => {
      throw new Error("nobody is signed in");
    };
    Object.assign(window, { ChatWidgetConfig: { userToken } });
  });
  await eventually(() => annsWords(visit), []);
  await send("Somebody asks");
  await trouble.waitFor();
  expect(it.service.received).toHaveLength(1);
  expect(await retry.isVisible()).toBe(true);
  expect(await answers.count()).toBe(1);
});

test("signing in ends the anonymous chat, and keeps the draft", async () => {
  keeping(inSession(answer([TOLD]), "s-nobody", "t-nobody"), ofAnn(answer(["Hello Ann"])));
  const visit = await visitOfAnn();
  await signIn(visit.page.context(), undefined);
  await asked(visit);
  await visit.input.fill(DRAFT);
  await signIn(visit.page.context(), tokenOf("ann"));
  await visit.input.press("Enter");
  await eventually(() => visit.answers.allInnerTexts(), ["Hello Ann"]);
  expect(sent()[1]).toEqual([DRAFT, undefined, undefined]);
  expect(await words(visit.page)).not.toMatch(new RegExp(`${ASKED}|${TOLD}|nobody`));
});

test("pictures that are not sent yet are no other user's (W21)", async () => {
  keeping(ofAnn(answer([TOLD])), ofBob(answer(["Hello Bob"])));
  const visit = await asked(await visitOfAnn("session", { "data-images": "on" }));
  const { page, input } = visit;
  await upload(page, jpeg(await photo(page, 60, 40), DRAFT));
  await page.locator("kefu-chat .tray canvas").waitFor();
  await signIn(page.context(), tokenOf("bob"));
  await input.pressSequentially("Bob asks");
  expect(await page.locator("kefu-chat .tray").isVisible()).toBe(false);
  await input.press("Enter");
  await eventually(() => visit.answers.allInnerTexts(), ["Hello Bob"]);
  expect(it.service.received.map(({ body }) => body.images)).toEqual([undefined, undefined]);
  expect(await words(page)).not.toMatch(new RegExp(`${ASKED}|${TOLD}|${DRAFT}`));
});

test("the next user has to agree for themselves", async () => {
  keeping(ofAnn(answer([TOLD])), ofBob(answer(["Hello Bob"])));
  const visit = await visitOfAnn("session", { "data-consent": "I agree." });
  const agree = visit.page.getByRole("button", { name: "Agree" });
  await agree.click();
  await asked(visit);
  await signIn(visit.page.context(), tokenOf("bob"));
  // Key by key: the first key tells the widget to look who is signed in, and clears Ann's draft.
  await visit.input.pressSequentially("Bob asks");
  await visit.input.press("Enter");
  await agree.waitFor();
  expect(it.service.received).toHaveLength(1);
  await pause(600);
  await agree.click();
  await eventually(() => visit.answers.allInnerTexts(), ["Hello Bob"]);
  expect(await agree.count()).toBe(0);
});

test("an unread answer leaves no mark on the launcher for another user", async () => {
  const held = gate();
  keeping(ofAnn({ acts: [{ send: PING }, held, ...answer([TOLD]).acts] }));
  const visit = await visitOfAnn();
  await visit.send(ASKED);
  await visit.launcher.click();
  held.open();
  await visit.page.locator("kefu-chat .launcher.unread").waitFor();
  await signIn(visit.page.context(), undefined);
  await eventually(() => visit.page.locator("kefu-chat .launcher.unread").count(), 0);
  expect(await visit.launcher.getAttribute("aria-label")).toBe("Open chat");
});

test("404 when the page is loaded: screen and storage are cleared, on a site without login too", async () => {
  for (const user of ["ann", undefined]) {
    keeping(ofAnn(answer([TOLD])), ofAnn(answer(["Anew"])));
    const visit = await visitOfAnn("local");
    await signIn(visit.page.context(), user && tokenOf(user));
    await asked(visit);
    it.service.kept = "gone";
    await visit.page.reload();
    await interest(visit.page);
    expect(it.service.looked).toHaveLength(1);
    expect(await annsWords(visit)).toEqual([]);
    expect(await shown(visit.page)).not.toMatch(/Ann-/);
    await visit.send("Anybody here?");
    await eventually(() => visit.answers.allInnerTexts(), ["Anew"]);
    expect(sent()[1]).toEqual(["Anybody here?", undefined, undefined]);
  }
});

test("404 for a question: the earlier chat is removed, and the question begins another one", async () => {
  const lost = refusal(404, "session_not_found");
  keeping(ofAnn(answer([TOLD])), lost, inSession(answer(["Anew"]), "s9", "t9"));
  const visit = await asked(await visitOfAnn("local"));
  await visit.send("Anybody here?");
  await eventually(() => visit.answers.allInnerTexts(), ["Anew"]);
  await visit.idle();
  expect(sent().slice(1)).toEqual([
    ["Anybody here?", "s-ann", "t-ann"],
    ["Anybody here?", undefined, undefined],
  ]);
  expect(await annsWords(visit)).toEqual([]);
  expect(await visit.page.locator("kefu-chat .question").count()).toBe(1);
  expect(visit.errors).toEqual([]);
});

test("404 for a download: the chat is not there any more, so its screen and storage go too", async () => {
  keeping(ofAnn(answer([TOLD])));
  const visit = await asked(await visitOfAnn("local"));
  it.service.kept = "gone";
  await visit.page.getByRole("button", { name: "More" }).click();
  await visit.page.getByRole("menuitem", { name: "Download chat" }).click();
  await eventually(() => annsWords(visit), []);
});
