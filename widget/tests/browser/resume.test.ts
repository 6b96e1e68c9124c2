/** A cut answer of a stored chat is taken up: the visitor reads of it only if it fails or is slow. */

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { type Act, answer, cutAt, gate, inSession, type Play } from "../scripted-service.ts";
import { pageWith } from "../site.ts";
import { daily, eventually, pause, stage, type Visit } from "./harness.ts";

const it = stage();

/** Has the page note every text of a note that is ever visible, and every announcement. */
async function watched(page: Page): Promise<void> {
  await page.evaluate(() => {
    const root = document.querySelector("kefu-chat")?.shadowRoot;
    if (!root) throw new Error("There is no chat to watch.");
    const seen = new Set<string>();
    const look = (): void => {
      for (const note of root.querySelectorAll<HTMLElement>(".trouble"))
        if (note.checkVisibility()) seen.add(note.firstChild?.textContent ?? "");
      const spoken = root.querySelector('[role="status"]')?.textContent;
      if (spoken) seen.add(`said: ${spoken}`);
    };
    look();
    // A busy machine draws so late that a look once a frame sees neither.
    const all = { subtree: true, childList: true, characterData: true, attributes: true };
    new MutationObserver(look).observe(root, all);
    Object.assign(window, { seen });
  });
}

const seenBy = (page: Page): Promise<string[]> =>
  page.evaluate(() => [...(window as unknown as { seen: Set<string> }).seen]);

const said = (page: Page, text: string): Promise<void> =>
  eventually(async () => (await seenBy(page)).includes(`said: ${text}`), true);

/** Sends a question, and lets its answer be cut once its beginning is shown. */
async function askToBeCut(visit: Visit, { open }: { open: () => void }): Promise<void> {
  await visit.send("Tell me");
  await eventually(() => visit.answers.last().innerText(), "Half an");
  open();
}

/** Lets time pass on a page with a clock of the test, until the answer that was cut is whole. */
async function becomesWhole({ page, answers, idle }: Visit): Promise<void> {
  await eventually(async () => {
    await page.clock.runFor(1_000);
    return answers.last().innerText();
  }, "Half an answer is whole.");
  await idle();
}

/** A visitor whose first question was answered, so that the files are there. The next is cut at `shown`. */
async function visited(shown: Act, ...answers: readonly Play[]): Promise<Visit> {
  it.service.script(inSession(answer(["Hello."]), "s1", "t"), cutAt(shown));
  it.service.kept = [];
  it.service.answers.push(...answers);
  const visit = await it.visit();
  await visit.send("Hello?");
  await visit.idle();
  await visit.page.locator("kefu-chat .actions").waitFor();
  return visit;
}

/** The same visitor, whose second question was sent. */
async function asked(...answers: readonly Play[]): Promise<Visit> {
  const shown = gate();
  const visit = await visited(shown, ...answers);
  await watched(visit.page);
  await askToBeCut(visit, shown);
  return visit;
}

test("an answer that is taken up at once shows and says nothing about the lost connection", async () => {
  const { page, answers, idle } = await asked(answer(["Half an answer ", "is whole."]));
  await eventually(() => answers.last().innerText(), "Half an answer is whole.");
  await idle();
  expect(it.service.looked).toContain("POST /api/sessions/s1/answer");
  await said(page, "The answer is complete");
  expect((await seenBy(page)).filter((text) => text.includes("lost"))).toEqual([]);
  expect(it.service.received).toHaveLength(2);
});

test("taking up that is slow says so after 1.5 seconds, until the text arrives", async () => {
  const held = gate();
  const { page, answers, idle, trouble } = await asked({
    acts: [held, ...answer(["Half an answer is whole."]).acts],
  });
  await eventually(() => trouble.allInnerTexts(), ["The connection was lost. Reconnecting…"]);
  expect(await answers.last().innerText()).toBe("Half an");
  held.open();
  await eventually(() => answers.last().innerText(), "Half an answer is whole.");
  await idle();
  expect(await trouble.count()).toBe(0);
  expect((await seenBy(page)).filter((text) => text.includes("lost"))).toEqual([
    "The connection was lost. Reconnecting…",
    "said: The connection was lost. Reconnecting…",
  ]);
});

test("taking up that fails shows the note with Retry, and says it", async () => {
  const { page, trouble, answers } = await asked();
  await eventually(
    () => trouble.allInnerTexts(),
    ["The connection was lost. Please try again.\nRetry"],
  );
  expect(await answers.last().innerText()).toBe("Half an");
  await said(page, "The connection was lost. Please try again.");
});

test("if the file for taking up cannot be fetched, the note is shown", async () => {
  const shown = gate();
  it.service.script(inSession(answer(["Hello."]), "s1", "t"), cutAt(shown));
  it.service.kept = [];
  const visit = await it.visit();
  await visit.page.route("**/chat-widget-resume.*", (route) => route.abort());
  await visit.send("Hello?");
  await visit.idle();
  await visit.page.locator("kefu-chat .actions").waitFor();
  await askToBeCut(visit, shown);
  await eventually(
    () => visit.trouble.allInnerTexts(),
    ["The connection was lost. Please try again.\nRetry"],
  );
});

/** Opens the page with the widget, after the requests of `visit` have been routed. */
async function arrive({ page, panel }: Visit): Promise<void> {
  const all = { "data-api-url": it.service.url, "data-open": "", "data-lang": "en" };
  await page.goto(it.site.page("/", pageWith(all)));
  await panel.waitFor();
}

/** The file for answers comes late; undefined: it does not come. */
async function firstCut(answerAfterMs: number | undefined, ...answers: readonly Play[]) {
  const shown = gate();
  it.service.script(cutAt(shown));
  it.service.kept = [];
  it.service.answers.push(...answers);
  const visit = await it.glance(it.site.page("/blank", "<!doctype html><title>A</title>"));
  await visit.page.route("**/chat-widget-answer.*", async (route) => {
    if (answerAfterMs === undefined) return route.abort();
    await pause(answerAfterMs);
    return route.continue();
  });
  await arrive(visit);
  await watched(visit.page);
  await askToBeCut(visit, shown);
  return visit;
}

test("a first answer that is cut before the file for answers is there shows and says nothing either", async () => {
  const { page, answers, idle } = await firstCut(900, answer(["Half an answer is whole."]));
  await eventually(() => answers.last().innerText(), "Half an answer is whole.");
  await idle();
  await page.locator("kefu-chat .actions").waitFor();
  const seen = await seenBy(page);
  expect(seen.filter((text) => text.includes("lost"))).toEqual([]);
  expect(it.service.received).toHaveLength(1);
});

test("a first answer that is cut shows the note if the file for answers does not come", async () => {
  const { page, trouble, retry, answers } = await firstCut(undefined);
  await eventually(
    () => trouble.allInnerTexts(),
    ["The connection was lost. Please try again.\nRetry"],
  );
  expect(await trouble.isVisible()).toBe(true);
  expect(await answers.last().innerText()).toBe("Half an");
  await said(page, "The connection was lost. Please try again.");
  it.service.script(answer(["Whole."]));
  await retry.click();
  await eventually(() => answers.last().innerText(), "Whole.");
});

/** Fails all requests for the answer while it returns a way. */
async function failing(page: Page, way: () => "refused" | "portal" | undefined): Promise<void> {
  await page.route("**/answer", (route) => {
    const now = way();
    if (now === "refused") return route.abort("connectionrefused");
    if (now === "portal") return route.fulfill({ contentType: "text/html", body: "Sign in" });
    return route.continue();
  });
}

for (const way of ["refused", "portal"] as const) {
  test(
    `an answer goes on by itself after 20 seconds of ${way} requests, with one text at a time (M3)`,
    daily(way === "refused"),
    async () => {
      const shown = gate();
      const visit = await visited(shown, answer(["Half an answer is whole."]));
      const { page, trouble } = visit;
      let isDown = true;
      let requests = 0;
      await failing(page, () => {
        requests += 1;
        return isDown ? way : undefined;
      });
      await page.clock.install();
      await watched(page);
      await askToBeCut(visit, shown);
      await eventually(async () => {
        await page.clock.runFor(1_000);
        return requests > 5;
      }, true);
      expect(await trouble.allInnerTexts()).toEqual(["The connection was lost. Reconnecting…"]);
      isDown = false;
      await becomesWhole(visit);
      expect(it.service.received).toHaveLength(2);
      expect((await seenBy(page)).filter((text) => text.includes("lost"))).toEqual([
        "The connection was lost. Reconnecting…",
        "said: The connection was lost. Reconnecting…",
      ]);
    },
  );
}

test("an answer that is cut offline goes on by itself when the network is back (M3)", async () => {
  const shown = gate();
  it.service.script(cutAt(shown));
  it.service.kept = [];
  it.service.answers.push(answer(["Half an answer is whole."]));
  const visit = await it.visit();
  const { page, answers, idle, trouble } = visit;
  await visit.send("Tell me");
  await eventually(() => answers.last().innerText(), "Half an");
  await page.waitForFunction(() =>
    performance.getEntriesByType("resource").some(({ name }) => name.includes("widget-resume")),
  );
  await watched(page);
  await page.context().setOffline(true);
  shown.open();
  await page.locator("kefu-chat .line", { hasText: "You are offline" }).waitFor();
  await pause(4_000);
  expect(await trouble.filter({ visible: true }).count()).toBe(0);
  await page.context().setOffline(false);
  await eventually(() => answers.last().innerText(), "Half an answer is whole.");
  await idle();
  expect(it.service.received).toHaveLength(1);
  expect((await seenBy(page)).join()).not.toContain("Please try again");
});

test("a first answer that is cut offline before the file for answers is there goes on, too (M3)", async () => {
  const shown = gate();
  it.service.script(cutAt(shown));
  it.service.kept = [];
  it.service.answers.push(answer(["Half an answer is whole."]));
  const visit = await it.glance(it.site.page("/blank", "<!doctype html><title>A</title>"));
  const { page, answers, idle, trouble } = visit;
  let isAway = true;
  const asked: (() => void)[] = [];
  await page.route("**/chat-widget-answer.*", async (route) => {
    if (!isAway) return route.continue();
    await new Promise<void>((resolve) => asked.push(resolve));
    return route.abort();
  });
  await arrive(visit);
  await visit.send("Tell me");
  await eventually(() => answers.last().innerText(), "Half an");
  await page.context().setOffline(true);
  await eventually(() => asked.length > 0, true);
  isAway = false;
  for (const fail of asked) fail();
  shown.open();
  await trouble.waitFor();
  await page.context().setOffline(false);
  await eventually(() => answers.last().innerText(), "Half an answer is whole.");
  await idle();
  await page.locator("kefu-chat .actions").waitFor();
  expect(it.service.received).toHaveLength(1);
});

test("an answer that was given up is taken up when the visitor comes back to the tab (M3)", async () => {
  const shown = gate();
  const visit = await visited(shown, answer(["Half an answer is whole."]));
  const { page, trouble } = visit;
  let isDown = true;
  await failing(page, () => (isDown ? "refused" : undefined));
  await page.clock.install();
  await askToBeCut(visit, shown);
  await eventually(async () => {
    await page.clock.runFor(4_000);
    return trouble.allInnerTexts();
  }, ["The connection was lost. Please try again.\nRetry"]);
  isDown = false;
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await becomesWhole(visit);
  expect(it.service.received).toHaveLength(2);
});
