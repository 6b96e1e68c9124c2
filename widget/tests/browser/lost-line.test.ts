/**
 * A lost line, in each of its forms, for 20 seconds and for 5 minutes: nothing is lost, nothing is sent
 * twice, and the visitor reads one true thing at a time (W26).
 */

import type { Page, Route } from "playwright-core";
import { expect, test } from "vitest";
import { answer, cutAt, gate, inSession } from "../scripted-service.ts";
import { daily, eventually, pause, stage, type Visit } from "./harness.ts";

const it = stage();

const FAULTS = {
  refused: (route: Route) => route.abort("connectionrefused"),
  cut: (route: Route) => route.abort("connectionreset"),
  /** Chromium ends a request that the page has aborted. */
  hanging: async () => {},
  portal: (route: Route) => route.fulfill({ contentType: "text/html", body: "Sign in" }),
} as const;
type Fault = keyof typeof FAULTS;

const SECONDS = [20, 300];

/** Every day each story has two of the faults, and each fault two of the stories. */
const DAILY = {
  question: ["refused", "portal"],
  answer: ["cut", "hanging"],
  rating: ["refused", "hanging"],
  talk: ["cut", "portal"],
} as const satisfies Record<string, readonly Fault[]>;

const isDaily = (story: keyof typeof DAILY, fault: Fault, seconds: number): boolean =>
  seconds === SECONDS[0] && (DAILY[story] as readonly Fault[]).includes(fault);

const WHOLE = "Half an answer is whole.";

/** Every request to the service fails while the returned object says so. */
async function losing(page: Page, fault: Fault, url: string): Promise<{ isDown: boolean }> {
  const line = { isDown: false };
  await page.route(url, (route) => (line.isDown ? FAULTS[fault](route) : route.continue()));
  return line;
}

/** Lets the page's time pass, and notes how many notes stand in the chat at each second. */
async function pass({ page, trouble }: Visit, seconds: number): Promise<number> {
  let most = 0;
  for (let second = 0; second < seconds; second += 1) {
    await page.clock.runFor(1_000);
    // The network has a clock of its own.
    await pause(second < 20 ? 40 : 0);
    most = Math.max(most, await trouble.filter({ visible: true }).count());
  }
  return most;
}

for (const fault of Object.keys(FAULTS) as Fault[]) {
  for (const seconds of SECONDS) {
    test(
      `a question, ${fault} for ${seconds} s: it stays, with one note and Retry, and is answered once`,
      daily(isDaily("question", fault, seconds)),
      async () => {
        it.service.script(answer(["Yes."]));
        const visit = await it.visit({ "data-first-byte-timeout": "5" });
        const line = await losing(visit.page, fault, it.service.url);
        await visit.page.clock.install();
        line.isDown = true;
        await visit.send("Do you ship?");
        expect(await pass(visit, seconds)).toBe(1);
        expect(await visit.page.locator("kefu-chat .question").innerText()).toContain("ship?");
        expect(it.service.received).toHaveLength(0);
        line.isDown = false;
        await visit.retry.click();
        await eventually(() => visit.answers.last().innerText(), "Yes.");
        await visit.idle();
        expect(await visit.trouble.count()).toBe(0);
        expect(it.service.received).toHaveLength(1);
      },
    );

    test(
      `an answer that is cut, ${fault} for ${seconds} s: it is whole afterwards, by itself`,
      daily(isDaily("answer", fault, seconds)),
      async () => {
        const shown = gate();
        it.service.script(inSession(answer(["Hello."]), "s1", "t"), cutAt(shown));
        it.service.kept = [];
        it.service.answers.push(answer([WHOLE]));
        const visit = await it.visit();
        await visit.send("Hello?");
        await visit.idle();
        await visit.page.locator("kefu-chat .actions").waitFor();
        const line = await losing(visit.page, fault, "**/answer");
        await visit.page.clock.install();
        line.isDown = true;
        await visit.send("Tell me");
        await eventually(() => visit.answers.last().innerText(), "Half an");
        shown.open();
        expect(await pass(visit, seconds)).toBe(1);
        expect(await visit.answers.last().innerText()).toBe("Half an");
        line.isDown = false;
        // After a minute the widget has given up until the visitor is back.
        await visit.page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
        await eventually(async () => {
          await visit.page.clock.runFor(1_000);
          return visit.answers.last().innerText();
        }, WHOLE);
        await visit.idle();
        expect(await visit.trouble.count()).toBe(0);
        expect(it.service.received).toHaveLength(2);
      },
    );

    test(
      `a rating, ${fault} for ${seconds} s: the service gets the last one afterwards`,
      daily(isDaily("rating", fault, seconds)),
      async () => {
        it.service.script(inSession(answer(["Yes."]), "s1", "t"));
        it.service.kept = [];
        const visit = await it.visit();
        await visit.send("Do you ship?");
        await visit.page.locator("kefu-chat .actions").waitFor();
        const line = await losing(visit.page, fault, "**/feedback");
        await visit.page.clock.install();
        line.isDown = true;
        await visit.page.locator("kefu-chat .up").click();
        expect(await pass(visit, seconds)).toBe(0);
        await visit.page.locator("kefu-chat .down").click();
        expect(await pass(visit, 20)).toBe(0);
        expect(it.service.rated).toEqual([]);
        line.isDown = false;
        await eventually(async () => {
          await visit.page.clock.runFor(5_000);
          return it.service.rated.length > 0;
        }, true);
        // On a slow machine a reply comes too late for the widget, which then sends the rating again.
        await eventually(async () => {
          const before = it.service.rated.length;
          await pass(visit, 40);
          return it.service.rated.length - before;
        }, 0);
        const ratings = it.service.rated.map((body) => (body as { rating: string }).rating);
        expect(new Set(ratings)).toEqual(new Set(["down"]));
      },
    );

    test(
      `a talk with a person, ${fault} for ${seconds} s: their line comes afterwards, once`,
      daily(isDaily("talk", fault, seconds)),
      async () => {
        it.service.script(
          inSession(answer(["Hello."]), "s1", "t"),
          inSession(answer([]), "s1", "t"),
        );
        it.service.kept = [];
        const visit = await it.visit();
        const says = (...messages: object[]) => ({ state: "person", operator: "Ingrid", messages });
        let said = says();
        const line = { isDown: false };
        await visit.page.route("**/person*", (route) => {
          if (line.isDown) return FAULTS[fault](route);
          return route.fulfill({ json: said, headers: { "Access-Control-Allow-Origin": "*" } });
        });
        await visit.send("Hello?");
        await visit.page.locator("kefu-chat .actions").waitFor();
        await visit.page.clock.install();
        await visit.send("for a person");
        await visit.page.locator("kefu-chat .talks").waitFor();
        line.isDown = true;
        said = says({ id: 9, content: "Tuesday?", operator: "Ingrid" });
        expect(await pass(visit, seconds)).toBe(0);
        line.isDown = false;
        await eventually(async () => {
          await visit.page.clock.runFor(5_000);
          return visit.answers.filter({ hasText: "Tuesday?" }).count();
        }, 1);
        await pass(visit, 10);
        expect(await visit.answers.filter({ hasText: "Tuesday?" }).count()).toBe(1);
      },
    );
  }
}
