/** The talk with a person: when the widget asks for new lines, and what it shows. */

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer, chunk, cited, DONE, finish, inSession, type Play } from "../scripted-service.ts";
import { daily, eventually, pause, stage } from "./harness.ts";

const it = stage();

interface Operator {
  /** The answers of the service, from the next request on; undefined: it fails. */
  says: object | undefined;
  readonly asked: string[];
}

/** A chat that a person has, and a clock that only the test advances. */
async function talking(
  attributes: Readonly<Record<string, string>> = {},
): Promise<Operator & Awaited<ReturnType<typeof it.visit>>> {
  it.service.script(
    inSession(answer(["one"]), "s1", "t1"),
    inSession(answer([]), "s1", "t1"),
    inSession(answer([]), "s1", "t1"),
  );
  it.service.kept = [];
  const operator: Operator = { says: state("person"), asked: [] };
  const visit = await it.visit(attributes, { reducedMotion: "reduce" });
  await visit.page.evaluate(count);
  await visit.page.route("**/person*", (route) => {
    operator.asked.push(new URL(route.request().url()).search);
    return operator.says
      ? route.fulfill({ json: operator.says, headers: { "Access-Control-Allow-Origin": "*" } })
      : route.abort();
  });
  await visit.send("first");
  await visit.page.locator("kefu-chat .actions").waitFor();
  await visit.page.clock.install();
  await visit.send("for a person");
  await visit.page.locator("kefu-chat .talks").waitFor();
  await visit.page.clock.pauseAt((await visit.page.evaluate(() => Date.now())) + 1_000);
  // The pause before this request began while the clock was running.
  await nextRequest(visit.page);
  return Object.assign(operator, visit);
}

function state(name: string, ...lines: readonly (readonly [number, string])[]): object {
  const messages = lines.map(([id, content]) => ({ id, content, operator: "Ingrid" }));
  return { state: name, operator: "Ingrid", messages };
}

/** In the page: counts the requests for lines, and those that have ended. */
function count(): void {
  const counts = { sent: 0, ended: 0 };
  const { fetch } = globalThis;
  globalThis.fetch = async (...request) => {
    const isForLines = `${request[0]}`.includes("/person");
    if (isForLines) counts.sent += 1;
    try {
      const response = await fetch(...request);
      if (isForLines) await response.clone().text();
      return response;
    } finally {
      if (isForLines) counts.ended += 1;
    }
  };
  Object.assign(globalThis, { counts });
}

const counts = (page: Page) =>
  page.evaluate(
    () => (globalThis as unknown as { counts: { sent: number; ended: number } }).counts,
  );

/**
 * Advances the page's clock until the next request; returns the milliseconds that it took. The clock
 * stands still until the response is there, which takes real time. `first`: the first step, which is
 * the least result; the other steps are small.
 */
async function nextRequest(page: Page, first = 0): Promise<number> {
  const { sent } = await counts(page);
  if (first > 0) await page.clock.runFor(first);
  for (let ms = first; ms < 120_000; ms += 250) {
    if ((await counts(page)).sent > sent) {
      await eventually(async () => (await counts(page)).ended, sent + 1);
      await pause(20);
      return ms;
    }
    await page.clock.runFor(250);
  }
  throw new Error("no request");
}

/** Advances the page's clock; fails if the page asks for lines meanwhile. */
async function asksNothingFor(page: Page, ms: number): Promise<void> {
  const { sent } = await counts(page);
  await page.clock.fastForward(ms / 2);
  await page.clock.fastForward(ms / 2);
  expect((await counts(page)).sent).toBe(sent);
}

const lines = (page: Page) => page.locator("kefu-chat .turn:has(.by) .answer");

test("an open chat asks for lines within seconds, a closed one seldom, and counts them (H4)", async () => {
  const talk = await talking();
  const { page, asked, panel } = talk;
  expect(await nextRequest(page, 3_000)).toBeGreaterThanOrEqual(3_250);
  await page.locator("kefu-chat .close").click();
  await panel.waitFor({ state: "hidden" });
  talk.says = state("person", [4, "I am here."], [5, "Are you?"]);
  expect(await nextRequest(page, 18_750)).toBeGreaterThanOrEqual(19_000);
  expect(asked.at(-1)).toBe("?seen=false");
  await eventually(() => talk.launcher.getAttribute("data-unread"), "2");
  expect(await page.title()).toBe("(2) A shop");
  expect(await talk.launcher.getAttribute("aria-label")).toBe("Open chat: Ingrid wrote to you");
  await talk.launcher.click();
  expect(await lines(page).allInnerTexts()).toEqual(["I am here.", "Are you?"]);
  expect(await talk.launcher.getAttribute("data-unread")).toBe("0");
  expect(await page.title()).toBe("A shop");
  await nextRequest(page);
  expect(asked.at(-1)).toBe("?seen=true&after=5");
  expect(talk.errors).toEqual([]);
});

test("the service learns that the last line of a talk is seen, so it mails none (H22)", async () => {
  const talk = await talking();
  await talk.page.locator("kefu-chat .close").click();
  await talk.panel.waitFor({ state: "hidden" });
  talk.says = state("closed", [4, "Goodbye."]);
  await nextRequest(talk.page, 18_750);
  expect(talk.asked.at(-1)).toBe("?seen=false");
  await eventually(() => talk.launcher.getAttribute("data-unread"), "1");
  await talk.launcher.click();
  await eventually(() => talk.asked.at(-1), "?seen=true&after=4");
});

test("a line that comes twice is shown once, and successive ones have one name (H4)", async () => {
  const talk = await talking();
  talk.says = state("person", [4, "Hello."], [6, "Hello."]);
  await nextRequest(talk.page);
  await eventually(() => lines(talk.page).allInnerTexts(), ["Hello.", "Hello."]);
  await nextRequest(talk.page);
  await nextRequest(talk.page);
  expect(await lines(talk.page).count()).toBe(2);
  expect(await talk.page.locator("kefu-chat .by:not(.spoken)").count()).toBe(1);
  // The answer of the model is marked as generated, and a person's lines are not (W29).
  expect(await talk.page.locator("kefu-chat .turn > [data-generated=ai]:not(:empty)").count()).toBe(
    1,
  );
});

test("who waits outside the opening hours reads when a person answers again (H26)", async () => {
  const talk = await talking({ "data-contact": "", "data-lang": "de" });
  it.service.contact = { ...it.service.contact, opens_at: "2099-11-30T09:00:00Z" };
  const line = talk.page.locator("kefu-chat .line.talk");
  talk.says = state("waiting");
  await nextRequest(talk.page);
  const again = /^Warten auf einen Menschen\nEin Mensch antwortet wieder: Montag, 30. November um/;
  await eventually(async () => again.test(await line.innerText()), true);
  await nextRequest(talk.page);
  expect(await line.innerText()).toMatch(again);
  expect(await line.evaluate((node) => node.scrollWidth <= node.clientWidth)).toBe(true);
  talk.says = state("person");
  await nextRequest(talk.page);
  await eventually(() => line.innerText(), "Ingrid antwortet Ihnen");
  expect(talk.errors).toEqual([]);
});

test("another person who takes the talk over is named (kept-chats M6)", async () => {
  const talk = await talking();
  talk.says = { state: "person", operator: "Bob", messages: [] };
  await nextRequest(talk.page);
  talk.says = state("person");
  await nextRequest(talk.page);
  await nextRequest(talk.page);
  expect(await talk.page.locator("kefu-chat .joined").allInnerTexts()).toEqual([
    "Ingrid joined the conversation",
    "Bob joined the conversation",
    "Ingrid joined the conversation",
  ]);
});

test("failures are followed by longer and longer pauses, and a talk goes on after them (H4)", async () => {
  const talk = await talking();
  talk.says = undefined;
  await nextRequest(talk.page);
  for (const atLeast of [6_500, 13_500, 27_500]) {
    expect(await nextRequest(talk.page, atLeast - 250)).toBeGreaterThanOrEqual(atLeast);
  }
  talk.says = state("person", [4, "Sorry."]);
  await nextRequest(talk.page);
  await eventually(() => lines(talk.page).allInnerTexts(), ["Sorry."]);
});

for (const [what, end] of [
  ["is handed back", (talk: Operator) => Object.assign(talk, { says: state("bot") })],
  ["is closed", (talk: Operator) => Object.assign(talk, { says: state("closed") })],
] as const) {
  test(
    `after a talk ${what} nothing is asked any more (H4)`,
    daily(what === "is handed back"),
    async () => {
      const talk = await talking();
      end(talk);
      await nextRequest(talk.page);
      await talk.page.locator("kefu-chat .panel:not(.talks)").waitFor();
      await asksNothingFor(talk.page, 300_000);
      const footer = talk.page.locator("kefu-chat .disclaimer");
      expect(await footer.innerText()).toMatch(/^Answers are generated by AI/);
    },
  );
}

test("a new chat ends the talk for this page (H4)", async () => {
  const talk = await talking();
  await talk.page.getByRole("button", { name: "More" }).click();
  await talk.page.getByRole("menuitem", { name: "New chat" }).click();
  await talk.page.locator("kefu-chat .panel:not(.talks)").waitFor();
  await asksNothingFor(talk.page, 300_000);
});

test("markup in a line or in a name is text (T9)", async () => {
  const talk = await talking();
  const hostile = "<img src=x onerror=alert(1)>";
  talk.says = { state: "person", operator: hostile, messages: [] };
  const line = { id: 4, content: hostile, operator: hostile };
  talk.says = { state: "person", operator: hostile, messages: [line] };
  await nextRequest(talk.page);
  await eventually(() => lines(talk.page).allInnerTexts(), [hostile]);
  expect(await talk.page.locator("kefu-chat img").count()).toBe(0);
  expect(await talk.page.locator("kefu-chat .by bdi").innerText()).toBe(hostile);
});

test("a line that is a translation has the person's own words as a quote below (H30)", async () => {
  const talk = await talking();
  const line = {
    id: 4,
    content: "Ja, **heute**.",
    operator: "Ingrid",
    original: "Yes, <b>today</b>.",
  };
  talk.says = { state: "person", operator: "Ingrid", messages: [line] };
  await nextRequest(talk.page);
  await eventually(
    () => talk.page.locator("kefu-chat .answer blockquote").innerText(),
    "Yes, <b>today</b>.",
  );
  expect(await talk.page.locator("kefu-chat .answer strong").innerText()).toBe("heute");
});

/** A stored chat of a site with a contact form: the model has answered, and nobody was asked for. */
async function answered(
  ...more: readonly Play[]
): Promise<Operator & Awaited<ReturnType<typeof it.visit>>> {
  it.service.script(inSession(answer(["one"]), "s1", "t1"), ...more);
  it.service.kept = [];
  const operator: Operator = { says: { state: "bot", operator: "", messages: [] }, asked: [] };
  const visit = await it.visit({ "data-contact": "" }, { reducedMotion: "reduce" });
  await visit.page.evaluate(count);
  await visit.page.route("**/person*", (route) => {
    operator.asked.push(new URL(route.request().url()).search);
    return route.fulfill({ json: operator.says, headers: { "Access-Control-Allow-Origin": "*" } });
  });
  await visit.page.clock.install();
  await visit.send("first");
  await visit.page.locator("kefu-chat .actions").waitFor();
  await eventually(() => visit.page.locator("kefu-chat .line.talk").count(), 1);
  await visit.page.clock.pauseAt((await visit.page.evaluate(() => Date.now())) + 1_000);
  return Object.assign(operator, visit);
}

test("a person who takes over a chat unasked is noticed within seconds of the answer (H4)", async () => {
  const talk = await answered();
  expect(await nextRequest(talk.page)).toBeLessThanOrEqual(3_500);
  expect(await talk.page.locator("kefu-chat .talks").count()).toBe(0);
  talk.says = state("person", [4, "Can I help you?"]);
  expect(await nextRequest(talk.page)).toBeLessThanOrEqual(4_000);
  await eventually(() => lines(talk.page).allInnerTexts(), ["Can I help you?"]);
  await talk.page.locator("kefu-chat .talks").waitFor();
  expect(await talk.page.locator("kefu-chat .joined").allInnerTexts()).toEqual([
    "Ingrid joined the conversation",
  ]);
  expect(await nextRequest(talk.page)).toBeLessThanOrEqual(4_000);
  expect(talk.errors).toEqual([]);
});

test("a visitor who begins to write learns at once of a person who came unasked (H25)", async () => {
  const talk = await answered();
  const { page, asked } = talk;
  await page.clock.fastForward(1_200_000);
  await eventually(() => asked.length, 1); // the last request of the watch, which was due before
  await page.clock.fastForward(300_000);
  talk.says = state("person", [4, "Can I help you?"]);
  await page.locator("kefu-chat .composer textarea").pressSequentially("And in May?");
  await eventually(() => lines(page).allInnerTexts(), ["Can I help you?"]);
  await page.locator("kefu-chat .talks").waitFor();
  expect(asked.length).toBe(2);
  expect(talk.errors).toEqual([]);
});

test("after a take-over the first line comes within seconds, also if it is not there at once (widget M6)", async () => {
  const talk = await answered();
  talk.says = state("person");
  await nextRequest(talk.page);
  await talk.page.locator("kefu-chat .talks").waitFor();
  talk.says = state("person", [4, "Can I help you?"]);
  expect(await nextRequest(talk.page)).toBeLessThanOrEqual(4_000);
  await eventually(() => lines(talk.page).allInnerTexts(), ["Can I help you?"]);
});

test("the button for a person goes while one answers (widget M6)", async () => {
  const send = chunk("I do not know.") + finish() + cited([], false) + DONE;
  const talk = await answered(inSession({ acts: [{ send }] }, "s1", "t1"));
  await talk.send("Do you deliver to Mars?");
  const offer = talk.page.locator("kefu-chat .handoff");
  await offer.waitFor();
  talk.says = state("person");
  await nextRequest(talk.page);
  await offer.waitFor({ state: "hidden" });
  talk.says = state("bot");
  await nextRequest(talk.page);
  await offer.waitFor();
});

test("a line that is older than the visitor's next message stands above it, also on the next page (widget M6)", async () => {
  const toPerson = inSession(answer([]), "s1", "t1");
  const talk = await answered(toPerson, toPerson);
  const { page } = talk;
  await talk.send("Tuesday morning, please.");
  await talk.idle();
  await talk.send("At nine.");
  await talk.idle();
  const [, second, third] = it.service.received.map(({ body }) => body.client_message_id);
  const questions = [
    { id: 7, client_message_id: second },
    { id: 9, client_message_id: third },
  ];
  talk.says = { ...state("person", [5, "Which day suits you?"], [8, "Fine."]), questions };
  const rows = page.locator(
    "kefu-chat .log :is(.question:not([hidden]), .joined, .turn > .answer:not(:empty))",
  );
  const shown = [
    "You:\nfirst",
    "one",
    "Ingrid joined the conversation",
    "Which day suits you?",
    "You:\nTuesday morning, please.",
    "Fine.",
    "You:\nAt nine.",
  ];
  await eventually(async () => {
    await page.clock.runFor(1_000);
    return rows.allInnerTexts();
  }, shown);
  expect(await page.locator("kefu-chat .by:not(.spoken)").count()).toBe(2);
  const stored = await page.evaluate(() => Object.values(sessionStorage).join());
  expect(stored.indexOf("Which day")).toBeLessThan(stored.indexOf("Tuesday"));
  expect(stored.indexOf("Fine.")).toBeLessThan(stored.indexOf("At nine."));
});

test("a message that did not reach the service keeps its Retry below a person's line (H4)", async () => {
  const talk = await talking();
  const { page } = talk;
  it.service.script({ acts: ["reset"] }, inSession(answer([]), "s1", "t1"));
  await talk.send("Are you there?");
  const retry = page.locator("kefu-chat .retry");
  await retry.waitFor();
  talk.says = state("person", [5, "Which day suits you?"]);
  const line = page.locator("kefu-chat .answer", { hasText: "Which day" });
  await eventually(async () => {
    await page.clock.runFor(1_000);
    return line.count();
  }, 1);
  const rows = page.locator("kefu-chat .log :is(.question:not([hidden]), .answer:not(:empty))");
  expect((await rows.allInnerTexts()).slice(-2)).toEqual([
    "Which day suits you?",
    "You:\nAre you there?",
  ]);
  await retry.click();
  await talk.idle();
  const ids = it.service.received.map(({ body }) => body.client_message_id);
  expect(ids.at(-1)).toBe(ids.at(-2));
  expect(await retry.count()).toBe(0);
});

test("a person who takes over a closed chat is noticed: a badge, and a mark in the tab's title (kept-chats M7)", async () => {
  const talk = await answered();
  const { page, launcher, panel } = talk;
  await page.locator("kefu-chat .close").click();
  await panel.waitFor({ state: "hidden" });
  talk.says = state("person", [4, "Can I help you?"]);
  expect(await nextRequest(page, 15_000)).toBeLessThanOrEqual(21_000);
  await eventually(() => launcher.getAttribute("data-unread"), "1");
  expect(await page.title()).toBe("(1) A shop");
  // The page may change its title meanwhile.
  await page.evaluate(() => {
    document.title = "Boots";
  });
  talk.says = state("person", [4, "Can I help you?"], [6, "Hello?"]);
  await nextRequest(page, 15_000);
  await eventually(() => page.title(), "(2) Boots");
  await launcher.click();
  await eventually(() => page.title(), "Boots");
  expect(await lines(page).allInnerTexts()).toEqual(["Can I help you?", "Hello?"]);
});

/** In the page: counts the notes that are played. */
function listen(): void {
  const { prototype } = OscillatorNode;
  const { start } = prototype;
  Object.assign(globalThis, { notes: 0 });
  prototype.start = function (...when) {
    (globalThis as unknown as { notes: number }).notes += 1;
    start.apply(this, when);
  };
}

const notes = (page: Page) =>
  page.evaluate(() => (globalThis as unknown as { notes: number }).notes);

test("a line that nobody sees has a sound, until the visitor switches it off (W24, H25)", async () => {
  const talk = await talking();
  const { page, panel, launcher } = talk;
  await page.evaluate(listen);
  talk.says = state("person", [4, "I am here."]);
  await nextRequest(page);
  await eventually(() => lines(page).count(), 1);
  expect(await notes(page)).toBe(0);
  const close = async (): Promise<void> => {
    await page.locator("kefu-chat .close").click();
    await panel.waitFor({ state: "hidden" });
  };
  await close();
  talk.says = state("person", [6, "Are you?"]);
  await nextRequest(page, 15_000);
  await eventually(() => notes(page), 2);
  await launcher.click();
  const more = page.getByRole("button", { name: "More" });
  await more.click();
  const item = page.getByRole("menuitemcheckbox", { name: "Sound" });
  expect(await item.getAttribute("aria-checked")).toBe("true");
  await item.click();
  await more.click();
  expect(await item.getAttribute("aria-checked")).toBe("false");
  await page.keyboard.press("Escape");
  await close();
  talk.says = state("person", [8, "Hello?"]);
  await nextRequest(page, 15_000);
  await eventually(() => launcher.getAttribute("data-unread"), "1");
  expect(await notes(page)).toBe(2);
  expect(await page.evaluate(() => sessionStorage.getItem("kefu-chat:sound"))).toBe("off");
  expect(talk.errors).toEqual([]);
});

test("data-sound=off: no sound, and no item for it (H25)", async () => {
  const talk = await talking({ "data-sound": "off" });
  await talk.page.evaluate(listen);
  await talk.page.locator("kefu-chat .close").click();
  talk.says = state("person", [4, "I am here."]);
  await nextRequest(talk.page, 15_000);
  await eventually(() => talk.launcher.getAttribute("data-unread"), "1");
  expect(await notes(talk.page)).toBe(0);
  expect(await talk.page.locator("kefu-chat [role=menuitemcheckbox]").count()).toBe(0);
});

test("the line below the title says while a person writes (H25)", async () => {
  const talk = await talking();
  const line = talk.page.locator("kefu-chat .line.talk");
  talk.says = { ...state("person"), writing: true };
  await nextRequest(talk.page);
  await eventually(() => line.innerText(), "Ingrid is writing…");
  talk.says = { ...state("person", [4, "Hello."]), writing: false };
  await nextRequest(talk.page);
  await eventually(() => line.innerText(), "Ingrid answers you");
});

test("an open chat that nobody takes over asks ever less, and ends after ten minutes (H4)", {
  tags: "slow",
}, async () => {
  const { page, asked } = await answered();
  const after = async (ms: number): Promise<number> => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      await page.clock.runFor(5_000);
      // The next pause begins when the service has answered.
      await pause(20);
    }
    return asked.length;
  };
  const [soon, later] = [await after(60_000), await after(240_000)];
  // The last pause may end after the ten minutes.
  const last = await after(420_000);
  expect(soon).toBeGreaterThanOrEqual(3);
  expect(later - soon).toBeLessThan(20);
  expect(last - later).toBeLessThan(10);
  await asksNothingFor(page, 7_200_000);
});

test("a chat on a site without a contact form is not watched (H4)", async () => {
  it.service.script(inSession(answer(["one"]), "s1", "t1"));
  it.service.kept = [];
  const other = await it.visit();
  await other.page.clock.install();
  await other.send("first");
  await other.page.locator("kefu-chat .actions").waitFor();
  await other.page.clock.runFor(60_000);
  expect(other.requests.filter((url) => /-talk\.|\/person/.test(url))).toEqual([]);
});
