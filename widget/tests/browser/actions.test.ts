/** The buttons below an answer: copy it, request a new one, rate it. */

import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer, chunk, DONE, finish, gate, PING, refusal } from "../scripted-service.ts";
import { daily, eventually, pause, stage, testInChromium } from "./harness.ts";

const it = stage();
const CLIPBOARD = { permissions: ["clipboard-read", "clipboard-write"] };
const SOURCE = "**Yes**, see:\n\n- [one](https://example.com)\n\n```js\nlet a = 1;\n```\n";

function action(page: Page, name: string): Locator {
  return page.locator("kefu-chat .actions").getByRole("button", { name, exact: true });
}

function said(page: Page): Promise<string | null> {
  return page.locator("kefu-chat [role=status]").textContent();
}

test("Copy takes the answer's Markdown source, and says so aloud; of code, too (W8, W11)", async () => {
  it.service.script(answer([SOURCE.slice(0, 9), SOURCE.slice(9)]));
  const { page, send, idle, answers, errors } = await it.visit({}, CLIPBOARD);
  await send("hello");
  await idle();
  expect(await said(page)).toBe("The answer is complete");
  await action(page, "Copy").click();
  await eventually(() => said(page), "Copied");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(SOURCE);
  expect(await page.locator("kefu-chat .icon-check").count()).toBe(1);
  await page.locator("kefu-chat .icon-copy").waitFor();
  await page.locator("kefu-chat [role=status]").evaluate((node) => {
    node.textContent = "";
  });
  await answers.locator("figcaption button").click();
  await eventually(() => said(page), "Copied");
  expect(errors).toEqual([]);
});

test("a new answer: the old one stays until it begins, and Stop keeps the text so far (W8)", async () => {
  const held = gate();
  it.service.script(answer(["The **old** one."]), {
    acts: [{ send: PING }, held, { send: chunk("A ne") }, "silence"],
  });
  const { page, send, idle, act, answers, input, errors } = await it.visit();
  await send("hello");
  await idle();
  await action(page, "Answer again").click();
  await page.locator("kefu-chat .dots").waitFor();
  expect(await answers.allInnerTexts()).toEqual([expect.stringMatching(/^The old one\./)]);
  expect(await page.locator("kefu-chat .actions").count()).toBe(0);
  expect(await input.evaluate((node: HTMLElement) => node.matches(":focus"))).toBe(true);
  held.open();
  await eventually(() => answers.allInnerTexts(), ["A ne"]);
  await pause(600);
  await act.click();
  await idle();
  expect(await answers.allInnerTexts()).toEqual(["A ne"]);
  const [first, second] = it.service.received.map(({ body }) => body);
  expect(second?.messages).toEqual(first?.messages);
  expect(second?.client_message_id).not.toBe(first?.client_message_id);
  expect(await page.locator("kefu-chat .question").count()).toBe(1);
  expect(errors).toEqual([]);
});

test("another answer that fails: the old one stays, with one line that says so (W8)", async () => {
  it.service.script(
    answer(["The old one."]),
    refusal(503, "upstream_service_unavailable"),
    answer(["The new one."]),
  );
  const { page, send, idle, answers, trouble, retry } = await it.visit();
  await send("hello");
  await idle();
  await action(page, "Answer again").click();
  await trouble.waitFor();
  expect(await answers.allInnerTexts()).toEqual(["The old one."]);
  await retry.click();
  await eventually(() => answers.allInnerTexts(), ["The new one."]);
  await action(page, "Answer again").waitFor();
});

test("only the last answer can be asked for again; of one that failed there is nothing to do (W8)", async () => {
  it.service.script(answer(["one"]), answer(["two"]), { acts: [{ send: chunk("thr") }] });
  const { page, send, idle, trouble } = await it.visit();
  for (const question of ["1", "2"]) {
    await send(question);
    await idle();
  }
  await eventually(() => page.locator("kefu-chat .actions").count(), 2);
  expect(await page.locator("kefu-chat .again").count()).toBe(1);
  await page.reload();
  await eventually(() => page.locator("kefu-chat .actions").count(), 2);
  expect(await page.locator("kefu-chat .again").count()).toBe(1);
  await send("3");
  await trouble.waitFor();
  expect(await page.locator("kefu-chat .actions").count()).toBe(2);
  expect(await page.locator("kefu-chat .again").count()).toBe(0);
});

test("a rating is shown, sent to page and service, kept for the next page, and can be removed (W8, W12)", async () => {
  it.service.script(answer(["one"]));
  const { page, send, idle, errors } = await it.visit();
  await page.evaluate(() => {
    const told: unknown[] = [];
    Object.assign(globalThis, { told });
    const { ChatWidget } = window as unknown as {
      ChatWidget: { on(name: string, fn: (detail: unknown) => void): void };
    };
    ChatWidget.on("feedback", (detail) => told.push(detail));
    document.addEventListener("chat-widget:feedback", (event) =>
      told.push((event as CustomEvent).detail),
    );
  });
  await send("hello");
  await idle();
  const id = it.service.received[0]?.body.client_message_id;
  await action(page, "Helpful").waitFor();
  const pressed = (): Promise<(string | null)[]> =>
    Promise.all(
      ["Helpful", "Not helpful"].map((name) => action(page, name).getAttribute("aria-pressed")),
    );
  expect(await pressed()).toEqual(["false", "false"]);
  await action(page, "Helpful").click();
  expect(await pressed()).toEqual(["true", "false"]);
  await action(page, "Not helpful").click();
  expect(await pressed()).toEqual(["false", "true"]);
  const rated = (...ratings: string[]) =>
    ratings.map((rating) => ({ client_message_id: id, rating }));
  await eventually(() => it.service.rated, rated("up", "down"));
  const told = await page.evaluate(() => (globalThis as unknown as { told: unknown[] }).told);
  expect(told).toEqual(["up", "up", "down", "down"].map((rating) => ({ id, rating })));
  await page.reload();
  await action(page, "Helpful").waitFor();
  expect(await pressed()).toEqual(["false", "true"]);
  await action(page, "Not helpful").click();
  expect(await pressed()).toEqual(["false", "false"]);
  await eventually(() => it.service.rated, rated("up", "down", "none"));
  expect(errors).toEqual([]);
});

test("a rating that cannot be sent is still an event of the page, without an error (W8)", async () => {
  it.service.script(answer(["one"]));
  const { page, send, idle, trouble } = await it.visit();
  await send("hello");
  await idle();
  await page.route("**/api/chat/feedback", (route) => route.abort());
  const told = page.evaluate(
    () =>
      new Promise((resolve) => {
        document.addEventListener("chat-widget:feedback", (event) =>
          resolve((event as CustomEvent).detail),
        );
      }),
  );
  await action(page, "Not helpful").click();
  expect(await told).toMatchObject({ rating: "down" });
  await pause(100);
  expect(await trouble.count()).toBe(0);
});

test("by keyboard: each of the four is reached with Tab and works with Enter and Space (W11)", async () => {
  it.service.script(answer(["old"]), answer(["new"]));
  const { page, send, idle, answers } = await it.visit({}, CLIPBOARD);
  await send("hello");
  await idle();
  await page.locator("kefu-chat .actions").waitFor();
  await page.locator("kefu-chat .log").focus();
  const reached: (string | null | undefined)[] = [];
  for (let i = 0; i < 4; i += 1) {
    await page.keyboard.press("Tab");
    reached.push(
      await page.evaluate(() =>
        document.activeElement?.shadowRoot?.activeElement?.getAttribute("aria-label"),
      ),
    );
  }
  expect(reached).toEqual(["Copy", "Answer again", "Helpful", "Not helpful"]);
  await page.keyboard.press("Space");
  expect(await action(page, "Not helpful").getAttribute("aria-pressed")).toBe("true");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await eventually(() => answers.allInnerTexts(), ["new"]);
});

test("late buttons are added to each finished answer; only the last one has the button for a new answer (W8)", async () => {
  const held = gate();
  it.service.script(answer(["one"]), answer(["```js\nlet two;\n```"]), refusal(400, "bad"));
  const { page, send, idle, answers, trouble } = await it.visit({}, {}, undefined, (page) =>
    page.route(/widget-answer/, async (route) => {
      await held.until;
      await route.continue();
    }),
  );
  for (const question of ["1", "2"]) {
    await send(question);
    await idle();
  }
  expect(await page.locator("kefu-chat .actions").count()).toBe(0);
  held.open();
  await eventually(() => page.locator("kefu-chat .actions").count(), 2);
  expect(await page.locator("kefu-chat .turn:last-child .again").count()).toBe(1);
  expect(await page.locator("kefu-chat .again").count()).toBe(1);
  expect(await answers.locator("figcaption button").innerText()).toBe("Copy");
  await send("3");
  await trouble.waitFor();
  expect(await page.locator("kefu-chat .actions").count()).toBe(2);
});

for (const [what, spoil] of [
  ["that is not, byte for byte, the one of this build", "changed"],
  ["that cannot be fetched", "away"],
] as const) {
  test(
    `a file of actions ${what} is not run: answers are shown without them (T28)`,
    daily(spoil === "changed"),
    async () => {
      it.service.script(answer(["one"]), answer(["two"]));
      let isSpoilt = true;
      const { page, send, idle, answers } = await it.visit({}, {}, undefined, (page) =>
        page.route(/widget-answer/, async (route) => {
          if (!isSpoilt) return route.continue();
          if (spoil === "away") return route.abort();
          const response = await route.fetch();
          return route.fulfill({ response, body: `document.title="Bad";${await response.text()}` });
        }),
      );
      await send("first");
      await idle();
      // The text of an answer waits until the file is there, or has failed.
      await eventually(() => answers.allInnerTexts(), ["one"]);
      await pause(300);
      expect(await page.locator("kefu-chat .actions").count()).toBe(0);
      expect(await page.title()).toBe("A shop");
      // The next answer tries again, where the browser lets it.
      isSpoilt = false;
      await send("second");
      await idle();
      await eventually(() => answers.allInnerTexts(), ["one", "two"]);
      expect(await page.locator("kefu-chat .trouble").count()).toBe(0);
    },
  );
}

for (const hasTouch of [true, false]) {
  // Firefox has no command for a touch screen.
  const testIt = hasTouch ? testInChromium : test;
  testIt(
    `the buttons are ${hasTouch ? "44 px for a finger" : "small for a mouse"}, inside the panel (W10)`,
    async () => {
      it.service.script(answer(["one"]));
      const { page, send, idle, launcher, panel } = await it.visit(
        {},
        hasTouch ? { hasTouch, viewport: { width: 360, height: 740 } } : {},
      );
      if (hasTouch) await launcher.click();
      await send("hello");
      await idle();
      await page.locator("kefu-chat .actions").waitFor();
      const around = await panel.boundingBox();
      for (const button of await page.locator("kefu-chat .actions button").all()) {
        const box = await button.boundingBox();
        expect([box?.width, box?.height].map((px = 0) => Math.round(px))).toEqual(
          hasTouch ? [44, 44] : [36, 36],
        );
        expect(box?.x).toBeGreaterThanOrEqual(around?.x ?? 0);
      }
    },
  );
}

test("an answer that ends behind a closed panel leaves a badge, until it is looked at (W8, W11)", async () => {
  const held = gate();
  it.service.script({
    acts: [{ send: chunk("Ye") }, held, { send: chunk("s") + finish() + DONE }],
  });
  const { page, send, launcher, answers, errors } = await it.visit();
  // Chromium resolves `attr(data-unread)`, Firefox does not.
  const badge = (): Promise<string | undefined> =>
    launcher.evaluate((node) => {
      const { content } = getComputedStyle(node, "::after");
      return content === "none" ? undefined : (node as HTMLElement).dataset.unread;
    });
  await send("hello");
  await eventually(() => answers.innerText(), "Ye");
  await launcher.click();
  expect(await badge()).toBeUndefined();
  held.open();
  await eventually(badge, "1");
  expect(await launcher.getAttribute("aria-label")).toBe("Open chat: The answer is complete (1)");
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await launcher.click();
  expect(await badge()).toBeUndefined();
  expect(await launcher.getAttribute("aria-label")).toBe("Close chat");
  expect(await answers.innerText()).toBe("Yes");
  expect(errors).toEqual([]);
});

testInChromium(
  "Copy chat copies all questions and answers, also of a chat that is not stored",
  async () => {
    it.service.script(answer(["Yes, **5** days."]), answer(["Free."]));
    const { page, send, idle } = await it.visit({}, CLIPBOARD);
    await send("Do you ship?\nTo Lyon?");
    await idle();
    await send("At what price?");
    await idle();
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("menuitem", { name: "Copy chat" }).click();
    await page.locator("kefu-chat .card .quiet", { hasText: "Copied" }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
      "> Do you ship?\n> To Lyon?\n\nYes, **5** days.\n\n> At what price?\n\nFree.",
    );
    expect(await page.locator("kefu-chat [role=status]").textContent()).toBe("Copied");
  },
);

test("Text size makes the conversation larger, twice, and then as it was (W10)", async () => {
  it.service.script(answer(["Yes."]));
  const { page, send, idle, answers } = await it.visit();
  await send("Do you ship?");
  await idle();
  const heights: number[] = [];
  for (let clicks = 0; clicks < 4; clicks += 1) {
    heights.push((await answers.boundingBox())?.height ?? 0);
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("menuitem", { name: "Text size" }).click();
  }
  const [normal = 0, larger = 0, largest = 0, again = 0] = heights;
  expect(normal < larger && larger < largest).toBe(true);
  expect(again).toBe(normal);
});

test("each answer of the model is marked as generated, also after a reload (W29)", async () => {
  it.service.script(answer(["one"]), answer(["two"]));
  const { page, send, idle, answers } = await it.visit();
  for (const question of ["1", "2"]) {
    await send(question);
    await idle();
  }
  const marks = () =>
    answers.evaluateAll((all) => all.map((node) => (node as HTMLElement).dataset.generated));
  expect(await marks()).toEqual(["ai", "ai"]);
  await page.reload();
  await eventually(marks, ["ai", "ai"]);
});
