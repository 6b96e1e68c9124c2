/** Answers on the page: their appearance, and that no text becomes markup. */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { answer, chunk, DONE, finish, gate } from "../scripted-service.ts";
import { daily, eventually, stage } from "./harness.ts";

const it = stage();

const ENDED = [{ send: finish() + DONE }];

async function payloads(): Promise<string[]> {
  const read = async (path: string): Promise<unknown> =>
    JSON.parse(await readFile(new URL(path, import.meta.url), "utf8"));
  const brs = (await read("../data/brs-kb.json")) as { payloads: string[] };
  const purify = (await read("../../node_modules/dompurify/test/expect.json")) as {
    payload: string;
  }[];
  const all = [...brs.payloads, ...purify.map(({ payload }) => payload)];
  // An opening fence would hide the text after it.
  const isLast = (text: string): number => Number(/```|~~~/.test(text));
  return all.sort((one, other) => isLast(one) - isLast(other));
}

const FORMS: Readonly<Record<string, (payload: string) => string>> = {
  "a paragraph": (payload) => payload,
  "a link": (payload) => `[x](${payload}) [y](<${payload}>) ![z](${payload}) <${payload}>`,
  "the words of a link": (payload) => `[${payload}](https://example.com/${payload})`,
  "an item, a cell and a quote": (payload) => `- ${payload}\n\n|${payload}|\n|-|\n\n> ${payload}`,
};

const TAGS =
  "A BLOCKQUOTE BR BUTTON CODE DEL DIV EM FIGCAPTION FIGURE H3 HR LI OL P PRE SPAN STRONG TABLE TD TH TR UL" +
  // Of formulas.
  " math mfrac mi mn mo mover mroot mrow mspace msqrt msub msubsup msup mtable mtd mtext mtr munder munderover";
const ATTRIBUTES =
  "aria-label class dir href part rel role start tabindex target type" +
  " accent display linethickness lspace movablelimits rspace stretchy width";

for (const [form, write] of Object.entries(FORMS)) {
  test(
    `thousands of attacks as ${form}: no script, no foreign element, no request (T9, W13)`,
    daily(form === "the words of a link"),
    async () => {
      // The more elements an attack takes, the fewer of them make a test of seconds.
      const share = form.includes("cell") ? 4 : 1;
      const texts = (await payloads())
        .filter((_, at) => at % share === 0)
        .map((payload) => `${write(payload)}\n\n`);
      const sends = [];
      for (let at = 0; at < texts.length; at += 1_200) {
        sends.push({ send: chunk(texts.slice(at, at + 1_200).join("")) });
      }
      it.service.script({ acts: [...sends, { send: finish() + DONE }] });
      // Without the page's policy, so that nothing else holds.
      const visit = await it.visit({}, { bypassCSP: true });
      const { page } = visit;
      const surprises: string[] = [];
      page.on("dialog", (dialog) => {
        surprises.push(dialog.message());
        void dialog.dismiss();
      });
      page.on("request", (request) => {
        const own = [it.service.url, new URL("/health", it.service.url).href];
        // Those that every first answer fetches.
        const isPart = /^\/chat-widget-(answer|colours|edit|formulas)\./.test(
          new URL(request.url()).pathname,
        );
        const isOwn =
          own.includes(request.url()) || (isPart && request.url().startsWith(it.site.origin));
        if (!isOwn) surprises.push(request.url());
      });
      await visit.send("hello");
      await visit.idle();
      const seen = await visit.answers.last().evaluate((root) => {
        const names = new Set<string>();
        const attributes = new Set<string>();
        const schemes = new Set<string>();
        const rels = new Set<string>();
        for (const element of root.querySelectorAll("*")) {
          names.add(element.tagName);
          for (const { name, value } of element.attributes) {
            // The widths of the fade, which the widget sets.
            const isFade = /^(--fade-(left|right): \d+(\.\d+)?px;\s*)+$/.test(value);
            if (name !== "style" || !isFade) attributes.add(name);
          }
          if (!(element instanceof HTMLAnchorElement)) continue;
          schemes.add(element.protocol);
          rels.add(`${element.target} ${element.rel}`);
        }
        return {
          names: [...names],
          attributes: [...attributes],
          schemes: [...schemes],
          rels: [...rels],
          length: root.textContent?.length ?? 0,
        };
      });
      expect(seen.length).toBeGreaterThan(texts.join("").length / 2);
      expect(TAGS.split(" ")).toEqual(expect.arrayContaining(seen.names));
      expect(ATTRIBUTES.split(" ")).toEqual(expect.arrayContaining(seen.attributes));
      // An address that is none has no scheme, and leads nowhere.
      expect([":", "http:", "https:", "mailto:", "tel:"]).toEqual(
        expect.arrayContaining(seen.schemes),
      );
      expect(["_blank noopener noreferrer nofollow"]).toEqual(expect.arrayContaining(seen.rels));
      expect(surprises).toEqual([]);
      expect(visit.errors).toEqual([]);
    },
  );
}

test("an address of another server in an answer is never asked for anything (T10, W13)", async () => {
  let asked = 0;
  const evil = createServer((_request, response) => {
    asked += 1;
    response.end();
  });
  await new Promise<void>((resolve) => evil.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(evil.address() as AddressInfo).port}/?q=SECRET`;
  const source = `![x](${url})\n\n[![y](${url})](${url}) ${url} <${url}> <img src="${url}">`;
  it.service.script(answer([...source]));
  const { send, idle, answers, page } = await it.visit({}, { bypassCSP: true });
  await send("hello");
  await idle();
  expect(await answers.locator("a").count()).toBe(4);
  expect(await answers.innerText()).toContain(`<img src="${url}">`);
  await answers.locator("a").first().hover();
  await page.waitForTimeout(200);
  expect(asked).toBe(0);
  await new Promise((resolve) => evil.close(resolve));
});

test("a policy without inline styles and with Trusted Types has nothing to complain of (W14)", async () => {
  const source =
    "# T\n\n- [x] a\n\n|a|b|\n|:-:|-:|\n|1|2|\n\n```js\nx\n```\n\n> [l](https://a.b) `c`";
  it.service.script(answer([...source]));
  const { send, idle, answers, errors } = await it.visit();
  await send("hello");
  await idle();
  expect(await answers.locator("table").count()).toBe(1);
  expect(errors).toEqual([]);
});

for (const isSecure of [true, false]) {
  test(`Copy takes the code, ${isSecure ? "by the clipboard API" : "on a page on http too"} (W8)`, async () => {
    it.service.script(answer(["```js\nlet a = 1;\n\n", "  a += 1;\n```"]));
    const { page, send, idle, answers } = await it.visit(
      {},
      { permissions: ["clipboard-read", "clipboard-write"] },
    );
    if (!isSecure) {
      await page.evaluate(() => {
        Object.defineProperty(navigator, "clipboard", { value: undefined });
      });
    }
    await send("hello");
    await idle();
    expect(await answers.locator("figcaption span").innerText()).toBe("js");
    const button = answers.locator("figcaption button");
    await button.click();
    await eventually(() => button.innerText(), "Copied");
    await page.locator("kefu-chat textarea").focus();
    await page.keyboard.press("Control+V");
    const pasted = await page.locator("kefu-chat textarea").inputValue();
    expect(pasted).toBe("let a = 1;\n\n  a += 1;");
  });
}

test("finished blocks keep their elements, and a selection in them (W17)", async () => {
  const held = gate();
  const rest = ["more **bo", "ld** text\n\n- a\n- b", "\n\n|a|\n|-|\n|1|\n"].map((text) => ({
    send: chunk(text),
  }));
  it.service.script({
    acts: [
      { send: chunk("First one.\n\n- item\n\nlast ") },
      held,
      ...rest,
      { send: finish() + DONE },
    ],
  });
  const { page, send, idle, answers } = await it.visit();
  await send("hello");
  await eventually(() => answers.locator("p").count(), 3);
  await answers
    .locator("p")
    .first()
    .evaluate((paragraph) => document.getSelection()?.selectAllChildren(paragraph));
  const before = await answers.locator("p, li, ul").elementHandles();
  held.open();
  await idle();
  expect(await answers.locator("td").count()).toBe(1);
  for (const handle of before) expect(await handle.evaluate((node) => node.isConnected)).toBe(true);
  const selected = await page.locator("kefu-chat").evaluate((host) => {
    const { shadowRoot } = host;
    const [found] =
      document.getSelection()?.getComposedRanges({ shadowRoots: [shadowRoot as ShadowRoot] }) ?? [];
    const range = document.createRange();
    range.setStart(found?.startContainer ?? host, found?.startOffset ?? 0);
    range.setEnd(found?.endContainer ?? host, found?.endOffset ?? 0);
    return range.toString();
  });
  expect(selected).toBe("First one.");
});

test("an answer stays whole while a translator of pages replaces its texts (W9, W17)", async () => {
  const texts = [
    "# Si",
    "zes\n\nTwo **of th",
    "em**, `co",
    "de` and so",
    " on\n\n- [x] sm",
    "all\n- large",
  ];
  const gates = texts.map(() => gate());
  const acts = texts.flatMap((text, at) => [{ send: chunk(text) }, ...gates.slice(at, at + 1)]);
  it.service.script({ acts: [...acts, ...ENDED] });
  const { page, send, answers, idle, errors } = await it.visit();
  await send("Which sizes?");
  for (const [at, { open }] of gates.entries()) {
    // What the translator has written is replaced by the longer text, which it translates next.
    const last = (texts[at] ?? "").match(/\w+$/)?.[0] ?? "";
    await page.waitForFunction((end) => {
      const answer = document.querySelector("kefu-chat")?.shadowRoot?.querySelector("div.answer");
      if (!answer?.textContent?.endsWith(end)) return false;
      const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
      const found: Text[] = [];
      while (walker.nextNode()) found.push(walker.currentNode as Text);
      for (const text of found) {
        const font = document.createElement("font");
        font.textContent = text.data;
        text.replaceWith(font);
      }
      return true;
    }, last);
    open();
  }
  await idle();
  const words = (await answers.innerText()).split(/\s+/).join(" ");
  expect(words).toBe("Sizes Two of them, code and so on ☑ small large");
  expect(errors).toEqual([]);
});

test("marks of direction in a link or in code turn nothing outside of it (T32)", async () => {
  it.service.script(answer(["[a\u202eb](https://a.b) `c\u202ed` e\n\n1. שלום"]));
  const { send, idle, answers } = await it.visit();
  await send("hello");
  await idle();
  for (const [name, wanted] of [
    ["a", "plaintext"],
    ["code", "plaintext"],
    ["p", "isolate"],
  ] as const) {
    const first = answers.locator(name).first();
    expect(await first.evaluate((node) => getComputedStyle(node).unicodeBidi)).toBe(wanted);
  }
  const direction = answers
    .locator("ol")
    .last()
    .evaluate((node) => getComputedStyle(node).direction);
  expect(await direction).toBe("rtl");
});

test("text waits for the file that reads Markdown, then all of it is rendered (W18)", async () => {
  it.service.script({ acts: [{ send: chunk("**a") }, { send: chunk(" b**") }, ...ENDED] });
  const held = gate();
  const { page, send, idle, answers } = await it.visit({}, {}, undefined, (page) =>
    page.route(/widget-answer/, async (route) => {
      await held.until;
      await route.continue();
    }),
  );
  await send("hello");
  await idle();
  expect(await answers.innerText()).toBe("");
  held.open();
  await eventually(() => page.locator("kefu-chat .answer strong").allInnerTexts(), ["a b"]);
});

test("without the file that reads Markdown, text is shown as it is written (W18)", async () => {
  it.service.script({ acts: [{ send: chunk("**a\n") }, { send: chunk("b** <i>") }, ...ENDED] });
  const { page, send, answers } = await it.visit({}, {}, undefined, (page) =>
    page.route(/widget-answer/, (route) => route.abort()),
  );
  await send("hello");
  await eventually(() => answers.allInnerTexts(), ["**a\nb** <i>"]);
  expect(await page.locator("kefu-chat .turn .answer *").count()).toBe(0);
});
