/** The npm package in its examples, built as their developers would: React with Vite, and Next.js. */

import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ARE_INSTALLED,
  type Hosted,
  installPackage,
  nextExample,
  viteExample,
} from "../examples.ts";
import { answer } from "../scripted-service.ts";
import { eventually, stage, type Visit, visitOf } from "./harness.ts";

const it = stage();

const WIDGET = new URL("../../../functions/kefu/web/static/widget/", import.meta.url);

/** With CI=true missing packages are a failure. */
const CAN_RUN = ARE_INSTALLED || process.env.CI === "true";
if (!CAN_RUN) console.warn("Skipped: the examples need their packages. Try: make parts");

const BUILD_MS = 600_000;

const sites: { [name in "vite" | "next"]?: Hosted } = {};

afterAll(() => {
  for (const site of Object.values(sites)) site.close();
});

interface Shop extends Visit {
  /** The files of the widget that the page has requested. */
  readonly files: string[];
  press(button: string): Promise<void>;
}

/** Opens an example. The service has the widget's files beside its API; `held` delays the script. */
async function shop(name: "vite" | "next", held?: Promise<void>): Promise<Shop> {
  const context = await it.browser.newContext({ locale: "en" });
  const files: string[] = [];
  await context.route("**/chat-widget*", async (route) => {
    const file = new URL(route.request().url()).pathname.slice(1);
    files.push(file);
    await held;
    const headers = { "Access-Control-Allow-Origin": "*" };
    await route.fulfill({ path: fileURLToPath(new URL(file, WIDGET)), headers });
  });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(sites[name]?.origin ?? "");
  const press = (button: string) => page.getByRole("button", { name: button, exact: true }).click();
  return { ...visitOf(page, errors), files, press };
}

/** The elements of the widget and its tags in the page, and whether the page has its functions. */
function traces({ page }: Shop): Promise<readonly [number, number, boolean]> {
  return page.evaluate(
    () =>
      [
        document.querySelectorAll("kefu-chat").length,
        document.querySelectorAll("script[data-api-url]").length,
        "ChatWidget" in window,
      ] as const,
  );
}

const loaders = ({ files }: Shop) => files.filter((name) => name === "chat-widget.js").length;

/** Marks the widget's element, to recognise it later. */
const mark = ({ page }: Shop) =>
  page
    .locator("kefu-chat")
    .evaluate((host) => Object.assign(host, { isMarked: true }) && undefined);
const isMarked = ({ page }: Shop) =>
  page.locator("kefu-chat").evaluate((host) => "isMarked" in host);

describe.skipIf(!CAN_RUN)("the npm package", () => {
  beforeAll(installPackage, BUILD_MS);

  describe("with Vite", ofVite);
  describe("with Next.js", ofNext);
});

function ofVite(): void {
  beforeAll(async () => {
    sites.vite = await viteExample(it.service.url);
  }, BUILD_MS);

  test("StrictMode mounts the component twice, and the page has one widget from one request", async () => {
    const visit = await shop("vite");
    await visit.launcher.waitFor();
    expect(await traces(visit)).toEqual([1, 1, true]);
    expect(loaders(visit)).toBe(1);
    expect(visit.errors).toEqual([]);
  });

  test("the visitor's questions reach the service with the facts, and the events reach the app", async () => {
    it.service.script(answer(["They are warm."]), answer(["They are light."]));
    const visit = await shop("vite");
    await visit.launcher.waitFor();
    await visit.press("Ask about it");
    await eventually(() => visit.answers.allInnerTexts(), ["They are warm."]);
    await visit.page.getByText("Questions: 1").waitFor();
    await mark(visit);
    await visit.press("Sandals");
    await visit.press("Ask about it");
    await eventually(() => visit.answers.count(), 2);
    await visit.page.getByText("Questions: 2").waitFor();
    // The page counts the question before the service has it.
    await eventually(
      () => it.service.received.map(({ body }) => body.context),
      [{ product: "Boots" }, { product: "Sandals" }],
    );
    expect(await isMarked(visit)).toBe(true);
    expect(visit.errors).toEqual([]);
  });

  test("a changed property becomes an attribute: the widget starts again with the conversation", async () => {
    it.service.script(answer(["They are warm."]));
    const visit = await shop("vite");
    const tag = visit.page.locator("script[data-api-url]");
    // Before its script has run, the example has no chat that it could ask.
    await visit.launcher.waitFor();
    await visit.press("Ask about it");
    await eventually(() => visit.answers.allInnerTexts(), ["They are warm."]);
    expect(await tag.getAttribute("data-lang")).toBe("en");
    await visit.press("Deutsch");
    await eventually(() => tag.getAttribute("data-lang"), "de");
    await visit.page.getByLabel("Unterhaltung").waitFor();
    await eventually(() => visit.answers.allInnerTexts(), ["They are warm."]);
    expect(await traces(visit)).toEqual([1, 1, true]);
    expect(visit.errors).toEqual([]);
  });

  test("unmounting leaves nothing, and mounting again shows the widget again", async () => {
    const visit = await shop("vite");
    await visit.launcher.waitFor();
    await visit.press("No chat");
    await eventually(() => traces(visit), [0, 0, false]);
    await visit.press("Chat");
    await visit.launcher.waitFor();
    expect(await traces(visit)).toEqual([1, 1, true]);
    expect(visit.errors).toEqual([]);
  });

  test("unmounting while the script is on its way leaves nothing", async () => {
    let release = () => {};
    const visit = await shop("vite", new Promise((resolve) => (release = resolve)));
    await eventually(() => loaders(visit), 1);
    await visit.press("No chat");
    release();
    await eventually(() => traces(visit), [0, 0, false]);
    expect(visit.errors).toEqual([]);
  });
}

function ofNext(): void {
  beforeAll(async () => {
    sites.next = await nextExample(it.service.url);
  }, BUILD_MS);

  // The build takes long. Most defects are found with Vite, and by the import without a window.
  test("Next.js renders the page on the server, and the widget stays when the route changes", {
    tags: "slow",
  }, async () => {
    it.service.script(answer(["Two days."]));
    const visit = await shop("next");
    await visit.launcher.waitFor();
    await mark(visit);
    await visit.press("How long does delivery take?");
    await eventually(() => visit.answers.allInnerTexts(), ["Two days."]);
    await visit.page.getByRole("link", { name: "About" }).click();
    await visit.page.getByRole("heading", { name: "About this shop" }).waitFor();
    expect(await isMarked(visit)).toBe(true);
    expect(await visit.answers.allInnerTexts()).toEqual(["Two days."]);
    expect(await traces(visit)).toEqual([1, 1, true]);
    expect(visit.errors).toEqual([]);
  });
}
