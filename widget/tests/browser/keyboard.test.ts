/** Use by keyboard only, and the announcements for screen readers. */

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer, chunk, PING, type Play, refusal } from "../scripted-service.ts";
import { daily, eventually, pause, stage } from "./harness.ts";

const it = stage();
const PHONE = { viewport: { width: 390, height: 844 } };

test("a whole visit by keyboard: suggestion, answer, stop, failure, retry, close (W11)", async () => {
  it.service.script(
    answer(["Yes, we do."]),
    { acts: [{ send: chunk("It takes ") }, "silence"] },
    refusal(503, "upstream_service_unavailable"),
    answer(["Two days."]),
  );
  const { page, panel, answers, idle, trouble } = await it.visit({
    "data-open": "false",
    "data-suggestions": "Do you ship?",
  });
  const press = (...keys: string[]): Promise<void> => pressAll(page, keys);
  await page.locator("#before").focus();
  await press("Tab", "Enter");
  expect(await focused(page)).toBe("Ask anything…");
  await press("Shift+Tab");
  expect(await focused(page)).toBe("Do you ship?");
  await press("Enter");
  await eventually(() => answers.first().innerText(), "Yes, we do.");
  await idle();
  expect(await focused(page)).toBe("Ask anything…");
  await page.keyboard.type("How long does it take?");
  await press("Enter");
  await answers.getByText("It takes").waitFor();
  await pause(600);
  await press("Tab");
  expect(await focused(page)).toBe("Stop answering");
  await press("Enter");
  await idle();
  expect(await focused(page)).toBe("Send");
  await press("Shift+Tab");
  await page.keyboard.type("And to Norway?");
  await press("Enter");
  await trouble.waitFor();
  await press("Shift+Tab");
  expect(await focused(page)).toBe("Retry");
  await press("Enter");
  await eventually(() => answers.last().innerText(), "Two days.");
  expect(await focused(page)).toBe("Ask anything…");
  await press("Escape");
  expect(await focused(page)).toBe("Open chat");
  await panel.waitFor({ state: "hidden" });
});

test("the conversation itself is scrolled by keyboard (W11)", async () => {
  const lines = Array.from({ length: 80 }, (_, i) => `Line ${i}\n\n`);
  it.service.script(answer([lines.join("")]));
  const { page, send, idle } = await it.visit();
  await send("hello");
  await idle();
  const log = page.locator("kefu-chat .log");
  const top = (): Promise<number> => log.evaluate((node) => node.scrollTop);
  const before = await top();
  await log.focus();
  await page.keyboard.press("PageUp");
  await eventually(async () => (await top()) < before - 100, true);
});

test("Tab leaves a panel next to the page, and stays in one that covers the page (W11)", async () => {
  for (const options of [{}, PHONE]) {
    const { page, panel, launcher } = await it.visit({ "data-open": "false" }, options);
    await launcher.click();
    const inPanel: boolean[] = [];
    for (let i = 0; i < 9; i++) {
      await page.keyboard.press("Tab");
      inPanel.push(await panel.evaluate((node) => node.matches(":focus-within")));
    }
    for (let i = 0; i < 9; i++) {
      await page.keyboard.press("Shift+Tab");
      inPanel.push(await panel.evaluate((node) => node.matches(":focus-within")));
    }
    const isPhone = options === PHONE;
    expect(inPanel.every(Boolean)).toBe(isPhone);
    expect(await panel.getAttribute("aria-modal")).toBe(String(isPhone));
  }
});

const SAID: readonly (readonly [what: string, plays: readonly Play[], said: readonly string[]])[] =
  [
    ["an answer", [answer(["a", "b", "c"], 60)], ["Thinking…", "The answer is complete"]],
    [
      "a failure",
      [refusal(503, "upstream_service_unavailable")],
      ["Thinking…", "The AI service is not available. Please try again later."],
    ],
    [
      "a cut",
      [{ acts: [{ send: PING + chunk("Once upon") }, { wait: 500 }, "reset"] }],
      ["Thinking…", "The connection was lost. Please try again."],
    ],
  ];

for (const [what, plays, expected] of SAID) {
  test(
    `${what} is said aloud at its start and its end, not in between (W11)`,
    daily(what === "an answer"),
    async () => {
      it.service.script(...plays);
      const { page, send, idle } = await it.visit();
      const said = await listen(page);
      await send("hello");
      await idle();
      await eventually(said, expected);
    },
  );
}

test("a stop is said aloud (W11)", async () => {
  it.service.script({ acts: [{ send: chunk("Once") }, "silence"] });
  const { page, act, send, answers, idle } = await it.visit();
  const said = await listen(page);
  await send("hello");
  await eventually(() => answers.innerText(), "Once");
  await pause(600);
  await act.click();
  await idle();
  expect(await said()).toEqual(["Thinking…", "Stopped"]);
});

test("the panel keeps clear of a phone's keyboard, and full size when it goes (W10)", async () => {
  const { page, launcher, panel, input } = await it.visit({}, PHONE);
  await launcher.click();
  await pause(250);
  await keyboard(page, 500, 40);
  await eventually(() => panel.boundingBox(), { x: 0, y: 40, width: 390, height: 500 });
  const box = await input.boundingBox();
  expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(540);
  await keyboard(page, 844, 0);
  await eventually(() => panel.boundingBox(), { x: 0, y: 0, width: 390, height: 844 });
  expect(await input.evaluate((node) => getComputedStyle(node).fontSize)).toBe("16px");
});

/** Simulates the effect of an on-screen keyboard on the visual viewport. */
async function keyboard(page: Page, height: number, top: number): Promise<void> {
  await page.evaluate(
    ([newHeight, newTop]) => {
      const { visualViewport } = window;
      if (visualViewport === null) throw new Error("no visual viewport");
      Object.defineProperty(visualViewport, "height", { value: newHeight, configurable: true });
      Object.defineProperty(visualViewport, "offsetTop", { value: newTop, configurable: true });
      visualViewport.dispatchEvent(new Event("resize"));
    },
    [height, top] as const,
  );
}

async function pressAll(page: Page, keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

/** Records the texts of all live regions from now on. */
async function listen(page: Page): Promise<() => Promise<string[]>> {
  await page.locator("kefu-chat").evaluate((host) => {
    const said: string[] = [];
    Object.assign(globalThis, { said });
    const regions = host.shadowRoot?.querySelectorAll(
      "[role=status], [role=alert], [aria-live=polite], [aria-live=assertive]",
    );
    for (const region of regions ?? []) {
      new MutationObserver(() => said.push(region.textContent ?? "")).observe(region, {
        childList: true,
        characterData: true,
        subtree: true,
      });
    }
  });
  return () => page.evaluate(() => (globalThis as unknown as { said: string[] }).said);
}

/** The name of the focused element, inside or outside of the widget. */
function focused(page: Page): Promise<string | null | undefined> {
  return page.evaluate(() => {
    const inner = document.activeElement?.shadowRoot?.activeElement ?? document.activeElement;
    return inner?.getAttribute("aria-label") ?? inner?.textContent;
  });
}
