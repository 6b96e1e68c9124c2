/** Rows W1 to W9, W15, W16 of the fault matrix, in a real browser, on a real connection. */

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import {
  type Act,
  answer,
  chunk,
  DONE,
  finish,
  gate,
  PING,
  type Play,
  refusal,
} from "../scripted-service.ts";
import { daily, eventually, pause, QUICK, stage, testInChromium } from "./harness.ts";

const it = stage();
const SILENT: Play = { acts: ["silence"] };

test("an answer is shown while it arrives, not when it is whole", async () => {
  const held = gate();
  it.service.script({
    acts: [{ send: chunk("First half") }, held, { send: chunk(", rest.") + finish() + DONE }],
  });
  const { send, answers, act, idle, errors } = await it.visit();
  await send("hello");
  await eventually(() => answers.innerText(), "First half");
  expect(await act.getAttribute("aria-label")).toBe("Stop answering");
  held.open();
  await idle();
  expect(await answers.innerText()).toBe("First half, rest.");
  expect(errors).toEqual([]);
});

test("no first byte: one retry with the same id, then the 504 text; two requests in all (W1)", async () => {
  it.service.script(SILENT, SILENT, answer(["never"]));
  const { send, trouble } = await it.visit({ ...QUICK, "data-lang": "zh-CN" });
  const started = performance.now();
  await send("你好");
  await eventually(() => trouble.innerText(), "连接超时，请检查网络。\n重试");
  expect(performance.now() - started).toBeGreaterThan(1_200);
  await pause(800);
  expect(it.service.received).toHaveLength(2);
  const ids = it.service.received.map(({ body }) => body.client_message_id);
  expect(new Set(ids).size).toBe(1);
  expect(it.service.received.every(({ isAborted }) => isAborted)).toBe(true);
});

test("no first byte once: the retry's answer is the answer (W1)", async () => {
  it.service.script(SILENT, answer(["Here I am"]));
  const { send, answers, idle, trouble } = await it.visit(QUICK);
  await send("hello");
  await eventually(() => answers.innerText(), "Here I am");
  await idle();
  expect(await trouble.count()).toBe(0);
});

test("a stall: the text so far stays, one line says so, Retry asks again (W2)", async () => {
  it.service.script({ acts: [{ send: chunk("Half an ") }, "silence"] }, answer(["A whole answer"]));
  const { send, answers, trouble, retry, idle, input, page } = await it.visit(QUICK);
  await send("hello");
  await eventually(() => trouble.innerText(), "The connection was lost. Please try again.\nRetry");
  expect(await answers.innerText()).toBe("Half an");
  await eventually(() => it.service.received[0]?.isAborted, true);
  expect(it.service.received).toHaveLength(1);
  await retry.click();
  expect(await focusedIn(page)).toBe(await input.evaluate((node) => node.className));
  await idle();
  await eventually(() => answers.innerText(), "A whole answer");
  expect(it.service.received[1]?.body).toEqual(it.service.received[0]?.body);
});

test("comments alone keep both time limits quiet (W3)", async () => {
  const pings = Array.from({ length: 6 }, (): Act[] => [{ wait: 350 }, { send: PING }]).flat();
  it.service.script({ acts: [...pings, { send: chunk("At last") + finish() + DONE }] });
  const { send, answers, page } = await it.visit(QUICK);
  await send("think hard");
  await page.locator("kefu-chat .dots").waitFor();
  await eventually(() => answers.innerText(), "At last");
  expect(it.service.received).toHaveLength(1);
});

const TEXTS: readonly (readonly [number, string, string, number])[] = [
  [400, "invalid_request", "请求格式有误，请刷新页面重试。", 1],
  [429, "rate_limit_exceeded", "咨询人数过多，请稍等片刻。\n重试", 4],
  [503, "upstream_service_unavailable", "AI 服务暂不可用，请稍后重试。\n重试", 1],
  [504, "gateway_timeout", "连接超时，请检查网络。\n重试", 2],
];

for (const [status, code, text, requests] of TEXTS) {
  test(
    `${status}: the visitor reads its text after ${requests} request(s) (W4)`,
    daily(status === 429),
    async () => {
      const headers = { ...(status !== 503 && { "Retry-After": "0" }) };
      it.service.script(...Array(9).fill(refusal(status, code, headers)));
      const { send, trouble, act } = await it.visit({ "data-lang": "zh-CN" });
      await send("你好");
      await expect.poll(() => act.getAttribute("aria-label"), { timeout: 30_000 }).toBe("发送");
      expect(await trouble.innerText()).toBe(text);
      await pause(300);
      expect(it.service.received).toHaveLength(requests);
    },
  );
}

for (const [written, requests] of Object.entries({ 0: 1, 1: 2, 3: 4, abc: 4, "-1": 4, 99: 4 })) {
  test(
    `data-retry="${written}": ${requests} request(s) for a message that is refused with 429 (W4)`,
    daily(["0", "abc"].includes(written)),
    async () => {
      it.service.script(
        ...Array(9).fill(refusal(429, "rate_limit_exceeded", { "Retry-After": "0" })),
      );
      const { send, retry } = await it.visit({ "data-retry": written });
      await send("hello");
      await retry.waitFor({ timeout: 30_000 });
      await pause(200);
      expect(it.service.received).toHaveLength(requests);
    },
  );
}

for (const [status, code] of [
  [429, "rate_limit_exceeded"],
  [503, "upstream_service_unavailable"],
] as const)
  test(
    `${status}: Retry-After is readable across origins and honoured, the wait is explained (W4, aws M3)`,
    daily(status === 503),
    async () => {
      it.service.script(refusal(status, code, { "Retry-After": "2" }), answer(["Now"]));
      const { send, answers, trouble } = await it.visit();
      await send("hello");
      await eventually(
        async () => (await trouble.innerText()).replace(/\d/, "N"),
        "Many people are asking right now. Please wait a moment.\nTrying again in N s",
      );
      await eventually(() => answers.innerText(), "Now");
      expect(await trouble.count()).toBe(0);
      const [first, second] = it.service.received;
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_990);
    },
  );

test("a wait counts down to the next attempt; screen readers hear one number (D13)", async () => {
  const wait = refusal(429, "rate_limit_exceeded", { "Retry-After": "3" });
  it.service.script(answer(["Hello"]), wait, answer(["Now"]), answer(["Later"]));
  const { send, idle, page, answers } = await it.visit();
  await send("hello");
  await idle();
  await page.locator("kefu-chat .actions").waitFor();
  await page.evaluate(() => {
    const root = document.querySelector("kefu-chat")?.shadowRoot;
    const [shown, spoken] = [".countdown", '[role="status"]'].map((part) => {
      const texts: string[] = [];
      new MutationObserver(() => {
        const text = root?.querySelector(part)?.textContent;
        if (text && text !== texts.at(-1)) texts.push(text);
      }).observe(root as ShadowRoot, { subtree: true, childList: true, characterData: true });
      return texts;
    });
    Object.assign(window, { shown, spoken });
  });
  await send("and now?");
  await eventually(() => answers.last().innerText(), "Now");
  await idle();
  const seen = await page.evaluate(() => {
    const { shown, spoken } = window as unknown as Record<"shown" | "spoken", string[]>;
    return { shown, spoken };
  });
  const numbers = seen.shown.map((text) => Number(/^Trying again in (\d) s$/.exec(text)?.[1]));
  // With its jitter, the wait is up to half a second longer.
  expect([3, 4]).toContain(numbers[0]);
  expect(numbers).toEqual(numbers.map((_, at) => (numbers[0] ?? 0) - at));
  expect(numbers.at(-1)).toBe(1);
  expect(seen.spoken.filter((text) => text.includes("Trying again"))).toHaveLength(1);
  expect(await page.locator("kefu-chat .countdown").count()).toBe(0);
});

test("the first question's wait counts down, too: its file is fetched for it (D13)", async () => {
  it.service.script(refusal(429, "rate_limit_exceeded", { "Retry-After": "40" }));
  const { send, trouble, act } = await it.visit({ "data-lang": "zh-CN" });
  await send("你好");
  await expect
    .poll(() => trouble.innerText())
    .toMatch(/^咨询人数过多，请稍等片刻。\n\d\d 秒后自动重试$/);
  expect(await act.getAttribute("aria-label")).not.toBe("发送");
});

test("503 without Retry-After: nothing happens by itself; the Retry button asks again (W4)", async () => {
  it.service.script(refusal(503, "upstream_service_unavailable"), answer(["Better"]));
  const { send, retry, answers } = await it.visit();
  await send("hello");
  await retry.waitFor();
  await pause(500);
  expect(it.service.received).toHaveLength(1);
  await retry.click();
  await eventually(() => answers.innerText(), "Better");
});

test("an end without [DONE] is a failure; the text so far stays (W5)", async () => {
  it.service.script({ acts: [{ send: chunk("Almost") + finish() }] });
  const { send, trouble, answers } = await it.visit();
  await send("hello");
  await eventually(() => trouble.innerText(), "The answer broke off. Please try again.\nRetry");
  expect(await answers.innerText()).toBe("Almost");
});

for (const [what, end] of [
  ["cut", "reset"],
  ["silent for too long", "silence"],
] as const) {
  test(
    `an answer that is ${what} is cancelled at the service: its model may go on (W7)`,
    daily(end === "reset"),
    async () => {
      const shown = gate();
      it.service.script({ acts: [{ send: chunk("Half") }, shown, end] });
      const { send, answers, retry } = await it.visit(QUICK);
      await send("hello");
      await eventually(() => answers.innerText(), "Half");
      shown.open();
      await retry.waitFor();
      const id = it.service.received[0]?.body.client_message_id;
      await eventually(() => it.service.cancelled, [id]);
      expect(it.service.received).toHaveLength(1);
    },
  );
}

test("below a growing answer something moves until it is whole; not while it waits (W8)", async () => {
  const held = gate();
  it.service.script({
    acts: [{ send: chunk("Half") }, held, { send: chunk(" more") + finish() + DONE }],
  });
  const { page, send, answers, idle } = await it.visit();
  const dots = page.locator("kefu-chat .dots");
  await send("hello");
  await eventually(() => answers.innerText(), "Half");
  const [text, life] = [await answers.boundingBox(), await dots.boundingBox()];
  expect(life?.y).toBeGreaterThanOrEqual((text?.y ?? 0) + (text?.height ?? 0));
  held.open();
  await idle();
  expect(await dots.count()).toBe(0);
  await page.context().setOffline(true);
  await send("and?");
  await page.locator("kefu-chat .trouble").waitFor();
  expect(await dots.isVisible()).toBe(false);
});

// The Firefox of the tests prefers reduced motion.
testInChromium(
  "the dots move while an answer is awaited or pauses, and stand still while text arrives (W8, W16)",
  async () => {
    const held = gate();
    const text = Array.from({ length: 60 }, (): Act[] => [{ send: chunk("more ") }, { wait: 50 }]);
    it.service.script({ acts: [held, ...text.flat(), "silence"] });
    const { page, send, answers } = await it.visit();
    const moving = () =>
      page
        .locator("kefu-chat .dots")
        .evaluate((node) => node.getAnimations({ subtree: true }).length);
    await send("hello");
    await eventually(moving, 3);
    held.open();
    await eventually(moving, 0);
    await eventually(moving, 3);
    expect(await answers.innerText()).toBe("more ".repeat(60).trim());
  },
);

test("offline: a notice, the message waits and goes out once when the network is back (W6)", async () => {
  it.service.script(answer(["Back again"]));
  const { page, send, trouble, answers } = await it.visit();
  await page.context().setOffline(true);
  await eventually(() => page.locator("kefu-chat .line").innerText(), "You are offline");
  await send("hello");
  await eventually(
    () => trouble.innerText(),
    "You are offline. Your message will be sent when you are back.",
  );
  await pause(700);
  expect(it.service.received).toHaveLength(0);
  await page.context().setOffline(false);
  await eventually(() => answers.innerText(), "Back again");
  expect(it.service.received).toHaveLength(1);
  expect(await trouble.count()).toBe(0);
});

for (const [when, play] of Object.entries({
  "before the first byte": SILENT,
  "in the middle of an answer": {
    acts: [{ send: chunk("Half") }, { wait: 1_500 }, { send: chunk(" more") }, "silence"],
  } as Play,
})) {
  // Only in Chromium are the ids of the processes known, to stop them.
  testInChromium(
    `a tab that slept ${when}: disconnected, no second request (W7)`,
    daily(when === "in the middle of an answer"),
    async () => {
      it.service.script(play, answer(["never"]));
      const { send, trouble, page } = await it.visit(QUICK);
      await send("hello");
      await eventually(() => it.service.received.length, 1);
      await pause(200);
      const renderers = await renderersOf(page);
      for (const id of renderers) process.kill(id, "SIGSTOP");
      await pause(3_600);
      for (const id of renderers) process.kill(id, "SIGCONT");
      await eventually(
        () => trouble.innerText(),
        "The connection was lost. Please try again.\nRetry",
      );
      await pause(800);
      expect(it.service.received).toHaveLength(1);
    },
  );
}

test("double click: one request, and its second click does not stop the answer (W8)", async () => {
  it.service.script(answer(["a", "b", "c"], 100), answer(["never"]));
  const { input, act, answers, idle } = await it.visit();
  await input.fill("hello");
  await act.dblclick();
  await eventually(() => answers.innerText(), "abc");
  await idle();
  expect(it.service.received).toHaveLength(1);
});

test("Enter twice: one request (W8)", async () => {
  it.service.script(answer(["a", "b", "c"], 50), answer(["never"]));
  const { input, answers, idle } = await it.visit();
  await input.fill("hello");
  await input.press("Enter");
  await input.press("Enter");
  await eventually(() => answers.innerText(), "abc");
  await idle();
  expect(it.service.received).toHaveLength(1);
});

test("Stop keeps the partial text and tells the service (W7 of the widget)", async () => {
  it.service.script({
    acts: [{ send: chunk("As far as this") }, { wait: 700 }, { send: PING }, "silence"],
  });
  const { send, act, answers, trouble, page } = await it.visit();
  await send("hello");
  await eventually(() => answers.innerText(), "As far as this");
  await pause(600);
  await act.click();
  await eventually(() => page.locator("kefu-chat .log .quiet").innerText(), "Stopped");
  expect(await answers.innerText()).toBe("As far as this");
  expect(await trouble.count()).toBe(0);
  await eventually(() => it.service.received[0]?.isAborted, true);
  await eventually(
    () => it.service.cancelled,
    [it.service.received[0]?.body.client_message_id ?? ""],
  );
});

test("leaving the page aborts the request and cancels it at the service (W16)", async () => {
  it.service.script({ acts: [{ send: chunk("Half") }, "silence"] });
  const { send, answers, page } = await it.visit();
  await send("hello");
  await eventually(() => answers.innerText(), "Half");
  await page.goto(it.site.page("/elsewhere", "<!doctype html><title>Elsewhere</title>"));
  await eventually(() => it.service.received[0]?.isAborted, true);
  await eventually(
    () => it.service.cancelled,
    [it.service.received[0]?.body.client_message_id ?? ""],
  );
});

/** The processes of our own browser that run pages; a spare one may be among them. */
async function renderersOf(page: Page): Promise<readonly number[]> {
  const session = await page.context().browser()?.newBrowserCDPSession();
  const { processInfo } = (await session?.send("SystemInfo.getProcessInfo")) ?? { processInfo: [] };
  const ids = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
  expect(ids).not.toEqual([]);
  return ids;
}

/** The class of the focused element inside the widget. */
function focusedIn(page: Page): Promise<string | undefined> {
  return page.evaluate(
    () => document.querySelector("kefu-chat")?.shadowRoot?.activeElement?.className,
  );
}
