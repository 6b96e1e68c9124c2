/** Pages that are hard on it: their styles, their policies, their frames; and it on them. */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer } from "../scripted-service.ts";
import { tagWith } from "../site.ts";
import { eventually, pause, stage, testInChromium } from "./harness.ts";

const it = stage();

/** Styles of pages that affect the whole page, except hiding `html`. */
const STYLES: Readonly<Record<string, string>> = {
  "everything hidden": "*:not(html){display:none!important;visibility:hidden!important}",
  "everything unset": "*{all:unset!important}",
  "everything see-through and small":
    "*{opacity:.1!important;font-size:3px!important;line-height:4!important;zoom:.5!important;" +
    "filter:blur(2px)!important;pointer-events:none!important;direction:rtl!important}html{zoom:1!important;opacity:1!important;filter:none!important}",
  "a loud style for buttons, texts and headings":
    "button,textarea,h2,p,div,section,header,form{all:initial!important;color:red!important;" +
    "background:lime!important;position:static!important;transform:rotate(9deg)!important}",
  "a body that moves, a cover on top of all, our own properties, other fonts and spacing":
    "body{transform:scale(.5) rotate(3deg);filter:blur(2px);perspective:9px;contain:strict}" +
    "head{display:block}head::after{content:'';position:fixed;inset:0;background:#fff;z-index:2147483647}" +
    "*{--surface:red;--accent:blue;--ink:lime!important;--line:9px;--top:90px;--height:10px}" +
    "html{font:900 40px fantasy;letter-spacing:9px;text-transform:uppercase;text-align:right;" +
    "word-spacing:20px;text-indent:40px;cursor:none;white-space:pre}",
};

function blank(css: string, attributes: Readonly<Record<string, string>> = {}): string {
  const tag = tagWith({
    "data-api-url": it.service.url,
    "data-lang": "en",
    "data-suggestions": "Do you ship?",
    ...attributes,
  });
  return `<!doctype html><html lang="en"><head><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="${it.site.page("/hostile.css", css)}"></head><body>${tag}</body></html>`;
}

/** Pictures of it closed, and open with a question and its answer. */
async function pictures(html: string): Promise<readonly Buffer[]> {
  it.service.script(answer(["Yes, **we** do."]));
  const { page, launcher, input, send, idle } = await it.open(it.site.page("/", html), {
    viewport: { width: 500, height: 600 },
    reducedMotion: "reduce",
  });
  const closed = await page.screenshot();
  await launcher.click();
  await send("Do you ship?");
  await idle();
  await page.locator("kefu-chat .actions").waitFor();
  await page.mouse.move(1, 1);
  // A caret blinks, and the policy of the page refuses the style that would hide it.
  await input.blur();
  // A busy machine draws late: the picture counts when the next one is the same.
  let open = await page.screenshot();
  for (let left = 50; left > 0; left -= 1) {
    await pause(50);
    const next = await page.screenshot();
    if (next.equals(open)) break;
    open = next;
  }
  await page.context().close();
  return [closed, open];
}

/** Of 255: a soft edge is drawn with as much of a difference on one and the same page. */
const ROUNDING = 2;

/** The largest difference between two pictures, in red, green or blue of any pixel. */
async function largestStep(one?: Buffer, other?: Buffer): Promise<number> {
  if (one === undefined || other === undefined) return 255;
  if (one.equals(other)) return 0;
  const page = await it.browser.newPage();
  const step = await page.evaluate(
    async (encoded) => {
      const read = async (text: string): Promise<Uint8ClampedArray> => {
        const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes]));
        canvas.drawImage(image, 0, 0);
        return canvas.getImageData(0, 0, image.width, image.height).data;
      };
      const canvas = new OffscreenCanvas(500, 600).getContext(
        "2d",
      ) as OffscreenCanvasRenderingContext2D;
      const [left, right] = [await read(encoded[0] ?? ""), await read(encoded[1] ?? "")];
      let largest = left.length === right.length ? 0 : 255;
      for (let i = 0; i < left.length; i++) {
        const step = Math.abs((left[i] ?? 0) - (right[i] ?? 0));
        if (step > largest) largest = step;
      }
      return largest;
    },
    [one.toString("base64"), other.toString("base64")],
  );
  await page.close();
  return step;
}

test("it looks the same on pages with hostile styles, pixel for pixel (W12, W15)", async () => {
  // Text may be drawn between two pixels, and a busy machine changes its place by a part of one. A
  // fault of styles is there each time, and differs from all pictures without them.
  const plain: (readonly Buffer[])[] = [];
  const different: string[] = [];
  for (const [name, css] of Object.entries(STYLES)) {
    let steps = [255, 255];
    for (let round = 0; round < 3 && Math.max(...steps) > ROUNDING; round += 1) {
      const got = await pictures(blank(css));
      for (let at = 0; at < 3 && Math.max(...steps) > ROUNDING; at += 1) {
        plain[at] ??= await pictures(blank(""));
        const wanted = plain[at] ?? [];
        const found = [await largestStep(wanted[0], got[0]), await largestStep(wanted[1], got[1])];
        steps = steps.map((step, which) => Math.min(step, found[which] ?? 255));
      }
    }
    if (Math.max(...steps) > ROUNDING) different.push(`${name}: ${steps}`);
  }
  expect(different).toEqual([]);
}, 240_000);

test("at four times the size it can be opened, asked and closed (W12)", async () => {
  it.service.script(answer(["Yes."]));
  const { page, launcher, panel, input, act, answers, send } = await it.visit(
    {},
    { viewport: { width: 320, height: 256 }, deviceScaleFactor: 4 },
  );
  await launcher.click();
  await send("Do you ship?");
  await eventually(() => answers.innerText(), "Yes.");
  for (const part of [input, act, panel.locator(".close"), answers]) {
    const box = await part.boundingBox();
    expect(box && box.x >= 0 && box.y >= 0 && box.x + box.width <= 320).toBe(true);
    expect(box && box.y + box.height <= 256).toBe(true);
  }
  await panel.locator(".close").click();
  await panel.waitFor({ state: "hidden" });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
});

test("on a page that zooms itself, the panel is inside the window (W12)", async () => {
  const url = it.site.page("/", blank("html{zoom:1.25}", { "data-open": "" }));
  const { page, panel } = await it.open(url, { viewport: { width: 1_000, height: 700 } });
  // The last one is the part of a phone's screen that its keyboard leaves.
  for (const [width, height] of [
    [1_000, 700],
    [390, 700],
    [390, 500],
  ] as const) {
    await page.setViewportSize({ width, height });
    await eventually(async () => {
      const { left, top, right, bottom } = await panel.evaluate((node) =>
        node.getBoundingClientRect().toJSON(),
      );
      return [left >= 0, top >= 0, right <= width, bottom <= height];
    }, Array(4).fill(true));
  }
});

// Firefox cannot be given the areas.
testInChromium("nothing of the panel is behind a notch (W12)", async () => {
  const { page, launcher, panel, input } = await it.visit(
    {},
    { viewport: { width: 844, height: 390 } },
  );
  const session = await page.context().newCDPSession(page);
  const insets = { top: 30, right: 59, bottom: 21, left: 59 };
  await session.send("Emulation.setSafeAreaInsetsOverride", { insets });
  await launcher.click();
  for (const part of [panel.locator(".mark").first(), panel.locator(".close"), input]) {
    const { left, top, right, bottom } = await part.evaluate((node) =>
      node.getBoundingClientRect().toJSON(),
    );
    expect([left >= 59, top >= 30, right <= 844 - 59, bottom <= 390 - 21]).toEqual(
      Array(4).fill(true),
    );
  }
});

/** Changes of globals by older libraries, monitors and careless pages before the widget runs. */
const SCRIPTS: Readonly<Record<string, string>> = {
  "an old library: prototypes extended, Array.from and bind replaced":
    "for (const type of [Array, Object, String, Function, Number]) {" +
    " type.prototype.each = function () { throw Error('each'); };" +
    " type.prototype.toJSON = undefined; type.prototype.title = 'Wrong'; }" +
    "Array.prototype.toJSON = function () { return '[' + this.join() + ']'; };" +
    "Array.from = (all) => Array.prototype.slice.call(all);" +
    "Function.prototype.bind = function (self) { const fn = this; return () => fn.call(self); };" +
    "HTMLElement.prototype.remove = function () { this.parentNode.removeChild(this); return this; };",
  "a monitor: fetch, JSON, promises and timers wrapped":
    "const real = fetch; window.fetch = async function (...all) {" +
    " const response = await real.apply(window, all); response.clone(); return response; };" +
    "const { parse, stringify } = JSON; JSON.parse = (text) => parse(text);" +
    "JSON.stringify = (value) => stringify(value);" +
    "const Real = Promise; window.Promise = class extends Real {};" +
    "const later = setTimeout; window.setTimeout = (act, ms) => later(act, ms);",
  "prototypes frozen, names of ours taken by elements":
    "[Object, Array, Function, String, Promise, Map].forEach(({ prototype }) => Object.freeze(prototype));" +
    "for (const name of ['currentScript', 'ChatWidget', 'ChatWidgetConfig', 'panel', 'title']) {" +
    " const form = document.createElement('form'); form.setAttribute('name', name); form.id = name;" +
    " document.documentElement.append(form); }",
};

test("scripts of the page that bend the language do not break it (W13, W15, T25, T27)", async () => {
  for (const [name, code] of Object.entries(SCRIPTS)) {
    it.service.script(answer(["Yes."]), answer(["Today."]));
    it.site.page("/hostile.js", code);
    const html = blank("", { "data-open": "" }).replace(
      "<body>",
      '<body><script src="/hostile.js"></script>',
    );
    const { page, send, answers, idle, errors, panel } = await it.open(it.site.page("/", html));
    await send("Do you ship?");
    await eventually(() => answers.innerText(), "Yes.");
    await idle();
    await send("When?");
    await eventually(() => answers.last().innerText(), "Today.");
    const [first, sent] = it.service.received.map(({ body }) => body);
    expect([name, first?.messages]).toEqual([name, [{ role: "user", content: "Do you ship?" }]]);
    const contents = sent?.messages.map(({ content }) => content);
    expect([name, contents]).toEqual([name, ["Do you ship?", "Yes.", "When?"]]);
    expect([name, sent?.client_message_id]).toEqual([name, expect.stringMatching(UUID)]);
    expect([name, await panel.locator("h2").innerText()]).toEqual([name, "Chat with us"]);
    expect([name, errors]).toEqual([name, []]);
    await page.context().close();
  }
});

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

// Firefox has no command for the medium.
testInChromium("on paper there is no widget (W10)", async () => {
  const { page, launcher, panel } = await it.visit();
  await page.emulateMedia({ media: "print" });
  expect([await launcher.isVisible(), await panel.isVisible()]).toEqual([false, false]);
});

test("the strictest policy the docs name is enough, Trusted Types too (W14)", async () => {
  const policy =
    `default-src 'none'; script-src 'self' 'nonce-r4nd0m'; style-src 'self'; ` +
    `connect-src ${new URL(it.service.url).origin}; require-trusted-types-for 'script'; ` +
    `base-uri 'none'; form-action 'none'; trusted-types 'none'`;
  for (const path of ["/chat-widget.js", await pinned()]) {
    it.service.script(answer(["Yes."]));
    const html = blank("")
      .replace("<script ", '<script nonce="r4nd0m" ')
      .replace("/chat-widget.js", path);
    const { page, launcher, send, answers, errors } = await it.open(
      it.site.page("/strict", html, `, ${policy}`),
    );
    await launcher.click();
    await send("Do you ship?");
    await eventually(() => answers.innerText(), "Yes.");
    // The blank icon of the page is the page's own fault.
    expect(errors.filter((error) => !error.includes("data:,"))).toEqual([]);
    expect(await page.locator("kefu-chat").count()).toBe(1);
  }
});

test("under Trusted Types a chat that could not be fetched comes with the next click (W2, W14)", async () => {
  const policy =
    `default-src 'none'; script-src 'self'; style-src 'self'; ` +
    `connect-src ${new URL(it.service.url).origin}; require-trusted-types-for 'script'; ` +
    `trusted-types 'none'`;
  const strict = it.site.page("/strict", blank(""), `, ${policy}`);
  const { page, launcher, panel } = await it.glance(strict);
  let fails = true;
  await page.route(/widget[-.](open|all)/, (route) => (fails ? route.abort() : route.continue()));
  await launcher.click();
  const complaint = (): Promise<string> =>
    launcher.evaluate((node) => (node as HTMLButtonElement).validationMessage);
  await eventually(complaint, "Chat did not load");
  fails = false;
  await launcher.click();
  await panel.waitFor();
});

test("a nonce alone is enough: it goes from the loader to the chat (W2, W14)", async () => {
  const policy =
    `default-src 'none'; script-src 'nonce-r4nd0m'; style-src 'self'; ` +
    `connect-src ${new URL(it.service.url).origin}; require-trusted-types-for 'script'`;
  const html = blank("", { "data-open": "" }).replace("<script ", '<script nonce="r4nd0m" ');
  const { panel, errors } = await it.open(it.site.page("/nonce", html, `, ${policy}`));
  expect(await panel.isVisible()).toBe(true);
  expect(errors.filter((error) => !error.includes("data:,"))).toEqual([]);
});

/** The path of the widget in one file. */
async function pinned(): Promise<string> {
  const manifest = new URL("widget/chat-widget.json", STATIC);
  return `/${JSON.parse(await readFile(manifest, "utf8")).file}`;
}

const STATIC = new URL("../../../functions/kefu/web/static/", import.meta.url);

test("in a sandboxed frame, without an origin and without storage, it answers (W14)", async () => {
  it.service.script(answer(["Yes."]));
  const inner = it.site.page("/inner", blank("", { "data-open": "" }));
  const outer = `<!doctype html><title>A shop</title><link rel="icon" href="data:,"><iframe
sandbox="allow-scripts" src="${inner}" width="600" height="600"></iframe>`;
  const { page, errors } = await it.open(it.site.page("/outer", outer, "; frame-src 'self'"));
  const frame = page.frameLocator("iframe").locator("kefu-chat");
  await frame.locator("textarea").fill("Do you ship?");
  await frame.locator("textarea").press("Enter");
  await eventually(() => frame.locator("div.answer").innerText(), "Yes.");
  await frame.locator(".actions").waitFor();
  expect(errors).toEqual([]);
});

test("on a page opened from the disk it answers (W14)", async () => {
  it.service.script(answer(["Yes."]));
  const folder = await mkdtemp(join(tmpdir(), "kefu-page-"));
  try {
    const path = join(folder, "page.html");
    const html = blank("", { "data-open": "" }).replace(
      "/chat-widget.js",
      `${it.site.origin}/chat-widget.js`,
    );
    await writeFile(path, html);
    const { page, send, answers, errors } = await it.open(pathToFileURL(path).href);
    await send("Do you ship?");
    await eventually(() => answers.innerText(), "Yes.");
    await page.locator("kefu-chat .actions").waitFor();
    expect(errors).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("the page is left as it was: its globals, prototypes, styles, elements (W14, W15)", async () => {
  it.service.script(answer(["Yes."]));
  const without = it.site.page("/without", blank("").replace(/<script.*script>/, ""));
  const plain = await it.open(without);
  const before = await inventory(plain.page);
  const { page, launcher, send, answers } = await it.open(it.site.page("/with", blank("")));
  await launcher.click();
  await send("Do you ship?");
  await eventually(() => answers.innerText(), "Yes.");
  await page.locator("kefu-chat .actions").waitFor();
  // A file that is still being fetched has a link.
  await eventually(() => page.locator("kefu-chat > link").count(), 0);
  const after = await inventory(page);
  const added = after.globals.filter((name) => !before.globals.includes(name));
  expect(added.filter((name) => name !== "ChatWidget")).toEqual([]);
  expect(after.elements.filter((name) => !before.elements.includes(name))).toEqual([
    "html > body > script",
    "html > kefu-chat",
  ]);
  expect({ ...after, globals: [], elements: [] }).toEqual({ ...before, globals: [], elements: [] });
});

/** State of the page that the widget must not change. */
function inventory(page: Page): Promise<{
  globals: string[];
  elements: string[];
  natives: string[];
  styles: string[];
  sheets: number;
}> {
  return page.evaluate(() => {
    const path = (node: Element): string => {
      const name = node.localName;
      return node.parentElement === null ? name : `${path(node.parentElement)} > ${name}`;
    };
    const natives = [Array, Object, Promise, String, Map, Set, Element, Node, EventTarget, JSON]
      .flatMap((owner) => [owner, "prototype" in owner ? owner.prototype : {}])
      .flatMap((owner) => Object.entries(Object.getOwnPropertyDescriptors(owner)))
      .map(([name, { value }]) => `${name}: ${value instanceof Function ? String(value) : ""}`);
    const style = getComputedStyle(document.documentElement);
    return {
      globals: Object.getOwnPropertyNames(window),
      elements: [...document.querySelectorAll("*")].map(path),
      natives: [...natives, String(window.fetch), String(window.addEventListener)],
      styles: [...document.documentElement.attributes, ...document.body.attributes]
        .map(({ name, value }) => `${name}=${value}`)
        .concat([...style].map((name) => `${name}: ${style.getPropertyValue(name)}`)),
      sheets: document.styleSheets.length + document.adoptedStyleSheets.length,
    };
  });
}
