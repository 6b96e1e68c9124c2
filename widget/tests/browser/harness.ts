/** One browser, one site, one scripted service, and functions for the actions of a visitor. */

import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, type TestOptions, test } from "vitest";
import { IS_FIREFOX, launchBrowser } from "../browsers.mjs";
import { ScriptedService } from "../scripted-service.ts";
import { pageWith, Site } from "../site.ts";

export interface Visit {
  readonly page: Page;
  /** Errors on the page's console, and uncaught exceptions. */
  readonly errors: string[];
  /** The addresses that the page has requested. */
  readonly requests: readonly string[];
  readonly panel: Locator;
  readonly launcher: Locator;
  readonly input: Locator;
  /** Send, or Stop while an answer is under way. */
  readonly act: Locator;
  readonly answers: Locator;
  readonly trouble: Locator;
  readonly retry: Locator;
  send(text: string): Promise<void>;
  /** The answer under way has ended, in one way or another. */
  idle(): Promise<void>;
}

/** Called before the page is opened, as for routes of files that the widget fetches at once. */
type Prepare = (page: Page) => Promise<unknown>;

export interface Stage {
  browser: Browser;
  service: ScriptedService;
  site: Site;
  /** Opens a page with the widget; by default with an open panel. */
  visit(
    attributes?: Readonly<Record<string, string>>,
    options?: BrowserContextOptions,
    html?: string,
    prepare?: Prepare,
  ): Promise<Visit>;
  /** Opens any address; where the widget is, the visitor shows interest at once. */
  open(url: string, options?: BrowserContextOptions, prepare?: Prepare): Promise<Visit>;
  /** Opens any address without waiting for the chat: only the loader's elements exist. */
  glance(url: string, options?: BrowserContextOptions, prepare?: Prepare): Promise<Visit>;
}

/** Patient, because a busy machine is slow; tests of silence are QUICK. */
const DEFAULTS = {
  "data-first-byte-timeout": "30",
  "data-stall-timeout": "60",
  "data-lang": "en",
};

/** Short time limits, for tests in which the service is silent. */
export const QUICK = { "data-first-byte-timeout": "0.6", "data-stall-timeout": "0.8" };

/** A test that needs what Playwright can do in Chromium alone; the reason is beside it. */
export const testInChromium = test.skipIf(IS_FIREFOX);

/** The options of one variant of a test: every day the chosen ones run, with CI=true all of them. */
export const daily = (isDaily: boolean): TestOptions => (isDaily ? {} : { tags: "slow" });

let shared: Promise<Browser> | undefined;

/** The browser of this process, for all of its test files: each start takes processor time. */
async function browserOfProcess(): Promise<Browser> {
  const running = await shared;
  if (running?.isConnected()) return running;
  shared = launchBrowser();
  return shared;
}

/** Sets the stage for the tests of one file. */
export function stage(): Stage {
  const it = {} as Stage;
  it.visit = async (attributes = {}, options = {}, html, prepare) => {
    const all = { "data-api-url": it.service.url, "data-open": "", ...DEFAULTS, ...attributes };
    return it.open(it.site.page("/", html ?? pageWith(all)), options, prepare);
  };
  it.open = async (url, options = {}, prepare) => {
    const visit = await it.glance(url, options, prepare);
    await interest(visit.page);
    return visit;
  };
  it.glance = async (url, options = {}, prepare) => {
    const context = await it.browser.newContext(options);
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
    page.on("pageerror", (error) => errors.push(String(error)));
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await prepare?.(page);
    await page.goto(url);
    return visitOf(page, errors, requests);
  };
  beforeAll(async () => {
    [it.browser, it.service, it.site] = await Promise.all([
      browserOfProcess(),
      ScriptedService.start(),
      Site.start(),
    ]);
  });
  beforeEach(() => it.service.script());
  afterEach(async () => {
    await Promise.all(it.browser.contexts().map((context) => context.close()));
  });
  afterAll(async () => {
    await Promise.all([it.service.stop(), it.site.stop()]);
  });
  return it;
}

/** Has the chat fetched, as the pointer over the launcher would, and waits until it is there. */
export async function interest(page: Page): Promise<void> {
  if ((await page.locator("kefu-chat").count()) === 0) return;
  await page.locator("kefu-chat .launcher").dispatchEvent("pointerenter");
  await page.locator("kefu-chat .panel").waitFor({ state: "attached" });
}

/** A page with the widget, in the words of a visitor. */
export function visitOf(page: Page, errors: string[], requests: readonly string[] = []): Visit {
  const host = page.locator("kefu-chat");
  const act = host.locator(".act");
  const input = host.locator("textarea");
  return {
    page,
    errors,
    requests,
    panel: host.locator(".panel"),
    launcher: host.locator(".launcher"),
    input,
    act,
    answers: host.locator("div.answer"),
    trouble: host.locator(".trouble"),
    retry: host.locator(".retry"),
    async send(text) {
      await input.fill(text);
      await input.press("Enter");
    },
    async idle() {
      await host.locator('.act[aria-label="Send"]').waitFor();
    },
  };
}

/** Polls, ever less often, until `read` returns `wanted`; the failure shows the last value. */
export async function eventually<T>(read: () => T | Promise<T>, wanted: T): Promise<void> {
  let pauseMs = 0;
  const readLater = async (): Promise<T> => {
    await pause(pauseMs);
    pauseMs = Math.min(pauseMs + 10, 80);
    return read();
  };
  await expect.poll(readLater, { timeout: 30_000, interval: 20 }).toEqual(wanted);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
