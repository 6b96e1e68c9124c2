/** The chat in WebKit: what differs between browsers, with real keys and a real mouse. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../browser/harness.ts";
import { answer, chunk, gate, type Play, refusal, ScriptedService } from "../scripted-service.ts";
import { pageWith, Site, tagWith } from "../site.ts";
import { MISSING, WebKit } from "./driver.ts";

/** With CI=true a missing program is a failure. */
const CAN_RUN = MISSING.length === 0 || process.env.CI === "true";
if (!CAN_RUN) console.warn(`Skipped: ${MISSING} not installed. Try: make parts`);

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

const MARKDOWN = `## Sizes

Two of *them*, see [the page](https://shop.example/sizes):

1. small
2. large

| Size | A column with a long title | Price in the currency of the visitor |
|---|---|---|
| small | unbelievablylongwordwithoutaplacetobreak | 10 |

\`\`\`js
const price = 10;
\`\`\`
`;

let webkit: WebKit;
let service: ScriptedService;
let site: Site;
let visits = 0;

beforeAll(async () => {
  if (!CAN_RUN) return;
  [webkit, service, site] = await Promise.all([
    WebKit.start(),
    ScriptedService.start(),
    Site.start(),
  ]);
  console.log(`WebKit ${webkit.version}`);
});
beforeEach(() => service?.script());
afterAll(async () => {
  await Promise.all([webkit?.stop(), service?.stop(), site?.stop()]);
});

/** Opens a page of its own for each test, because the session keeps its storage. */
async function visit(attributes: Readonly<Record<string, string>> = {}, html?: string) {
  visits += 1;
  const all = { "data-api-url": service.url, "data-lang": "en", "data-open": "", ...attributes };
  const url = site.page(`/${visits}`, html ?? pageWith(all));
  // Not on the page itself: the widget stores its state when it is left.
  await webkit.goto(site.page("/blank", "<!doctype html><title>Blank</title>"));
  await webkit.run(() => sessionStorage.clear());
  await webkit.goto(url);
}

/** Reads from the shadow root of the widget; undefined until the element is there. */
function read<Result>(selector: string, reader: (found: HTMLElement) => Result) {
  const script = `const root = document.querySelector("kefu-chat")?.shadowRoot;
    const found = root?.querySelector(arguments[0]);
    arguments[1](found ? (${reader})(found) : undefined);`;
  return webkit.evaluate(script, [selector]) as Promise<Result | undefined>;
}

const shows = (selector: string, text: string): Promise<void> =>
  eventually(async () => (await read(selector, (found) => found.innerText.trim())) ?? "", text);

/** Where the middle of an element is in the window. */
async function click(selector: string): Promise<void> {
  const middle = () =>
    read(selector, (found) => {
      const { x, y, width, height } = found.getBoundingClientRect();
      return [Math.round(x + width / 2), Math.round(y + height / 2)] as const;
    });
  await eventually(async () => (await middle()) !== undefined, true);
  const [x, y] = (await middle()) ?? [0, 0];
  await webkit.click(x, y);
}

/** Puts the focus into the input and sends a question by keys. */
async function ask(question: string): Promise<void> {
  await eventually(() => read("textarea", (input) => input.checkVisibility()), true);
  await read("textarea", (input) => input.focus());
  await webkit.type(question);
  await webkit.press("Enter");
}

const ANSWER = ".turn:last-of-type div.answer";
const WHOLE = answer(["They are ", "**warm**."]);
const MANY = answer(Array.from({ length: 60 }, (_, line) => `Line ${line}\n\n`));

/** Begins an answer, and never ends it. */
const ENDLESS: Play = { acts: [{ send: chunk("It begins") }, "silence"] };

const act = () => read(".act", (button) => button.ariaLabel);
const idle = () => eventually(act, "Send");
const hasFocus = (selector: string) =>
  read(selector, (found) => found === (found.getRootNode() as ShadowRoot).activeElement);
const widgets = () => webkit.run(() => document.querySelectorAll("kefu-chat").length);
const log = () =>
  read(".log", ({ scrollTop, scrollHeight, clientHeight, scrollWidth, clientWidth }) => ({
    fromEnd: Math.round(scrollHeight - scrollTop - clientHeight),
    sideways: scrollWidth - clientWidth,
    scrollTop,
  }));

describe.skipIf(!CAN_RUN)("WebKit", () => {
  test("a click on the launcher opens the panel, with the focus in the input", async () => {
    await visit({ "data-open": "false" });
    await click(".launcher");
    await eventually(() => hasFocus("textarea"), true);
    expect(await read(".launcher", (found) => found.ariaExpanded)).toBe("true");
  });

  test("Escape closes the panel and returns the focus to the launcher", async () => {
    await visit({ "data-open": "false" });
    await click(".launcher");
    await eventually(() => hasFocus("textarea"), true);
    await webkit.press("Escape");
    await eventually(() => hasFocus(".launcher"), true);
    expect(await read(".panel", (panel) => panel.hidden)).toBe(true);
  });

  test("Tab goes through the panel in its order", async () => {
    await visit();
    await eventually(() => hasFocus("textarea"), false);
    await read(".close", (button) => button.focus());
    const order: string[] = [];
    for (let step = 0; step < 3; step += 1) {
      await webkit.press("Tab");
      order.push(
        (await read(".panel", (panel) => {
          const { activeElement } = panel.getRootNode() as ShadowRoot;
          return activeElement?.className || activeElement?.localName || "";
        })) ?? "",
      );
    }
    expect(order).toEqual(["log", "textarea", "act"]);
  });

  test("an answer is shown as Markdown", async () => {
    service.script(answer([...MARKDOWN]));
    await visit();
    await ask("Which sizes?");
    await idle();
    const found = await read(ANSWER, (node) => ({
      counts: ["h3, h4, h5", "em", "ol > li", "td", "pre code"].map(
        (tag) => node.querySelectorAll(tag).length,
      ),
      link: [...node.querySelectorAll("a")].map(({ href, target, rel }) => [href, target, rel]),
    }));
    expect(found).toEqual({
      counts: [1, 1, 2, 3, 1],
      link: [["https://shop.example/sizes", "_blank", "noopener noreferrer nofollow"]],
    });
  });

  test("a wide table scrolls by itself, and the conversation never sideways", async () => {
    service.script(answer([MARKDOWN]));
    await visit();
    await ask("Which sizes?");
    await idle();
    expect((await log())?.sideways).toBe(0);
    await read(".log", (node) => node.scrollTo({ left: 100 }));
    expect(await read(".log", (node) => node.scrollLeft)).toBe(0);
  });

  test("the conversation follows a growing answer", async () => {
    service.script(MANY);
    await visit();
    await ask("Tell me");
    await idle();
    await eventually(async () => (await log())?.fromEnd, 0);
    expect((await log())?.scrollTop).toBeGreaterThan(500);
  });

  test("a reader who has scrolled up stays there", async () => {
    let release = (_?: unknown) => {};
    const until = new Promise((resolve) => {
      release = resolve;
    });
    service.script({ acts: [...MANY.acts.slice(0, -1), { until }, ...MANY.acts] });
    await visit();
    await ask("Tell me");
    await eventually(async () => ((await log())?.scrollTop ?? 0) > 500, true);
    await read(".log", (node) => node.scrollTo({ top: 100 }));
    await eventually(async () => (await log())?.scrollTop, 100);
    await webkit.run(() => new Promise((painted) => requestAnimationFrame(() => painted(null))));
    release();
    await idle();
    expect((await log())?.scrollTop).toBe(100);
  });

  test("Stop keeps the text and cancels the answer at the service", async () => {
    service.script(ENDLESS);
    await visit();
    await ask("Begin");
    await shows(ANSWER, "It begins");
    await click(".act");
    await idle();
    await shows(ANSWER, "It begins");
    const [{ body }] = service.received as [(typeof service.received)[0]];
    await eventually(() => service.cancelled, [body.client_message_id]);
  });

  test("leaving the page in the middle of an answer cancels it", async () => {
    service.script(ENDLESS);
    await visit();
    await ask("Begin");
    await shows(ANSWER, "It begins");
    await webkit.goto(site.page("/away", "<!doctype html><title>Away</title>"));
    await eventually(() => service.cancelled, [service.received[0]?.body.client_message_id]);
  });

  test("a broken connection keeps the text, and Retry gets the whole answer", async () => {
    const shown = gate();
    service.script({ acts: [{ send: chunk("They are") }, shown, "reset"] }, WHOLE);
    await visit();
    await ask("Are they warm?");
    await shows(ANSWER, "They are");
    shown.open();
    await eventually(() => read(".retry", (button) => button.checkVisibility()), true);
    await shows(ANSWER, "They are");
    await click(".retry");
    await shows(ANSWER, "They are warm.");
    expect(service.received).toHaveLength(2);
  });

  test("a rate limit is waited for, and the message is sent again by itself", async () => {
    service.script(refusal(429, "rate_limit_exceeded", { "Retry-After": "1" }), WHOLE);
    await visit();
    await ask("Are they warm?");
    await shows(ANSWER, "They are warm.");
    const ids = service.received.map(({ body }) => body.client_message_id);
    expect(ids).toEqual([ids[0], ids[0]]);
  });

  test("a service that is unavailable is asked once, and again on a click", async () => {
    service.script(refusal(503, "upstream_service_unavailable"), WHOLE);
    await visit();
    await ask("Are they warm?");
    await eventually(() => read(".retry", (button) => button.checkVisibility()), true);
    expect(service.received).toHaveLength(1);
    await click(".retry");
    await shows(ANSWER, "They are warm.");
  });

  test("the conversation is there again after a reload", async () => {
    service.script(WHOLE);
    await visit();
    await ask("Are they warm?");
    await idle();
    await shows(ANSWER, "They are warm.");
    await webkit.run(() => location.reload());
    await shows(ANSWER, "They are warm.");
    await shows(".question", "You: Are they warm?");
  });

  test("the conversation goes on after the way back from another page", async () => {
    service.script(WHOLE, answer(["In brown."]));
    await visit();
    await ask("Are they warm?");
    await shows(ANSWER, "They are warm.");
    await idle();
    await webkit.goto(site.page("/away", "<!doctype html><title>Away</title>"));
    await webkit.back();
    await shows(ANSWER, "They are warm.");
    await ask("In which colour?");
    await shows(ANSWER, "In brown.");
  });

  test("Shift+Enter makes a line, and the input grows", async () => {
    await visit();
    await eventually(() => read("textarea", (input) => input.checkVisibility()), true);
    await read("textarea", (input) => input.focus());
    const height = () => read("textarea", (input) => input.offsetHeight);
    const before = (await height()) ?? 0;
    await webkit.type("One");
    await webkit.press("Enter", "Shift");
    await webkit.type("Two");
    expect(await read("textarea", (input) => (input as HTMLTextAreaElement).value)).toBe(
      "One\nTwo",
    );
    expect(await height()).toBeGreaterThan(before);
    expect(service.received).toEqual([]);
  });

  test("Enter that ends a composition sends nothing: its key code is 229, as in Safari", async () => {
    await visit();
    await eventually(() => read("textarea", (input) => input.checkVisibility()), true);
    const isTaken = await read("textarea", (input) => {
      (input as HTMLTextAreaElement).value = "\u4e2d";
      const key = { key: "Enter", keyCode: 229, bubbles: true, cancelable: true };
      return !input.dispatchEvent(new KeyboardEvent("keydown", key));
    });
    expect(isTaken).toBe(false);
    expect(await act()).toBe("Send");
    expect(service.received).toEqual([]);
  });

  test("in Arabic the launcher is on the left, and the empty input shows its placeholder", async () => {
    await visit({ "data-lang": "ar" });
    await eventually(() => read("textarea", (input) => input.dir !== ""), true);
    await eventually(
      () => read(".launcher", (found) => found.getBoundingClientRect().x < 100),
      true,
    );
    const sideways = (found: HTMLElement) => found.scrollWidth - found.clientWidth;
    expect(await read("textarea", sideways)).toBe(0);
  });

  test("data-mount shows the open chat inside the page, at the size of its box", async () => {
    const box = '<div id="here" style="height: 480px"></div>';
    const attributes = { "data-api-url": service.url, "data-mount": "#here", "data-lang": "en" };
    const html = pageWith(attributes).replace("</main>", `${box}</main>`);
    site.page("/mounted", html, "", "script-src 'self'");
    await webkit.goto(`${site.origin}/mounted`);
    await eventually(() => read(".panel", (panel) => panel.offsetHeight), 480);
    expect(await read(".panel", (panel) => panel.role)).toBe("region");
  });

  test("two tags make one widget, and destroy leaves nothing", async () => {
    const attributes = { "data-api-url": service.url, "data-lang": "en", "data-open": "" };
    await visit({}, pageWith(attributes, tagWith(attributes)));
    await eventually(widgets, 1);
    await webkit.run(() => window.ChatWidget?.destroy());
    expect(await widgets()).toBe(0);
    expect(await webkit.run(() => "ChatWidget" in window)).toBe(false);
  });

  test("axe finds nothing while the chat is open and has answered", async () => {
    service.script(answer([MARKDOWN]));
    await visit();
    await ask("Which sizes?");
    await idle();
    const script = `${await readFile(AXE, "utf8")};
      axe.run().then(({ passes, violations }) => arguments[0]([passes.length, violations]));`;
    const [passes, violations] = (await webkit.evaluate(script)) as [
      number,
      AxeResults["violations"],
    ];
    expect(passes).toBeGreaterThan(10);
    expect(violations).toEqual([]);
  });
});
