/** G24 to G26: the pages that an answer cites, as a visitor sees and opens them. */

import { expect, test } from "vitest";
import {
  answer,
  chunk,
  cited,
  DONE,
  finish,
  inSession,
  type Play,
  sources,
} from "../scripted-service.ts";
import { eventually, stage } from "./harness.ts";

const it = stage();
const DELIVERY = {
  number: 1,
  title: "Delivery times",
  url: "https://shop.example/help/delivery#no",
};
const PAGES = [DELIVERY, { number: 2, title: "A file", url: "" }];

/** An answer of a service that has learnt the pages of the site. */
function grounded(
  text: string,
  used: readonly number[] = [1, 2],
  links: readonly string[] = [],
): Play {
  const send = sources(PAGES, links) + chunk(text) + finish() + cited(used) + DONE;
  return { acts: [{ send }] };
}

test("numbers become links, and the pages stand below as links of 44 px (G25)", async () => {
  const text = "Three to five days [1], says the file [2].\n\n`a[1]` stays [7].";
  it.service.script(grounded(text));
  const { page, send, idle, answers, errors } = await it.visit();
  await send("Norway?");
  await idle();
  const list = page.locator("kefu-chat .sources");
  await list.waitFor();
  expect(it.service.received[0]?.body.sources).toBe(true);
  expect(await list.getAttribute("aria-label")).toBe("Sources");
  expect(await list.locator("li").allInnerTexts()).toEqual([
    "1\nDelivery times\nshop.example › help › delivery",
    "2\nA file",
  ]);
  const links = page.locator("kefu-chat .turn a");
  expect(
    await links.evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href)),
  ).toEqual(["https://shop.example/help/delivery#no", "https://shop.example/help/delivery#no"]);
  for (const name of ["target", "rel"]) {
    expect(await list.locator("a").getAttribute(name)).toBe(
      name === "rel" ? "noopener noreferrer nofollow" : "_blank",
    );
  }
  const box = await list.locator("a").boundingBox();
  expect(box?.height).toBeGreaterThanOrEqual(44);
  expect(await answers.locator("code").innerText()).toBe("a[1]");
  expect(await answers.innerText()).not.toContain("https://");
  expect(await answers.innerText()).toContain("stays [7].");
  await page.context().route("https://shop.example/**", (route) => route.fulfill({ body: "Here" }));
  const [opened] = await Promise.all([
    page.context().waitForEvent("page"),
    answers.locator("a.cite").click(),
  ]);
  await opened.waitForURL("https://shop.example/help/delivery#no");
  expect(errors).toEqual([]);
});

test("an answer without sources has none, and they stay over a reload (G26)", async () => {
  it.service.script(grounded("Hello!", []), grounded("Five days [1]."));
  const { page, send, idle } = await it.visit();
  await send("hi");
  await idle();
  await page.locator("kefu-chat .actions").waitFor();
  expect(await page.locator("kefu-chat .sources").count()).toBe(0);
  await send("Norway?");
  await idle();
  await page.locator("kefu-chat .sources").waitFor();
  await page.reload();
  await page
    .locator("kefu-chat .launcher")
    .click()
    .catch(() => {});
  await page.locator("kefu-chat .sources").waitFor({ state: "attached" });
  expect(await page.locator("kefu-chat a.cite").count()).toBe(1);
});

test("at any width a number stays beside its word, and the full stop beside the number (G25)", async () => {
  it.service.script(grounded("Standard delivery takes 3 to 5 working days [1]. Customs too."));
  const { page, send } = await it.visit();
  await send("Norway?");
  await page.locator("kefu-chat .sources").waitFor();
  const alone = await page.locator("kefu-chat a.cite").evaluate((cite) => {
    const panel = cite.closest<HTMLElement>(".panel");
    const near = (node: Node | null, at: number): DOMRect => {
      const range = document.createRange();
      range.setStart(node as Node, at);
      range.setEnd(node as Node, at + 1);
      return range.getBoundingClientRect();
    };
    const widths = Array.from({ length: 60 }, (_, step) => 240 + step * 4);
    const middleOf = ({ top, bottom }: DOMRect): number => (top + bottom) / 2;
    return widths.filter((width) => {
      if (panel) panel.style.width = `${width}px`;
      const before = cite.previousSibling;
      const middle = middleOf(cite.getBoundingClientRect());
      const word = near(before, (before?.textContent?.length ?? 1) - 1);
      return [word, near(cite.nextSibling, 0)].some((one) => Math.abs(middleOf(one) - middle) > 9);
    });
  });
  expect(alone).toEqual([]);
});

const EVIL = "https://evil.example";
/** Both were live in the widget: what a filter took for text became a fence, and the reverse. */
const FORGED = {
  "a code block at the end that looks like the list": `Three days.\n\n\`\`\`\n[1]: ${EVIL}/login "Delivery times"`,
  "link definitions": `Three days [1].\n\n[1]: ${EVIL}/login "Delivery times"`,
  "a tag inside a fence": `\`\`\`<b \`x\`>\n\`\`\`\n![i](${EVIL}/p.png?d=S) and [log in](${EVIL}/login)`,
  "links of each kind": `[a](${EVIL}/a) <${EVIL}/b> ${EVIL}/c [**d**](${EVIL}/d) [m](mailto:a@evil.example)`,
} as const;

for (const [what, text] of Object.entries(FORGED)) {
  test(`${what}: no source and, with learnt pages, no link (G24, knowledge 6, 7)`, async () => {
    it.service.script(grounded(text, []), answer([text]));
    const { page, send, idle, answers } = await it.visit();
    const links = page.locator("kefu-chat .turn a");
    await send("with pages");
    await idle();
    await page.locator("kefu-chat .actions").waitFor();
    expect(await links.count()).toBe(0);
    const shown = await answers.first().innerText();
    await send("without pages");
    await idle();
    await eventually(() => page.locator("kefu-chat .actions").count(), 2);
    expect(await answers.last().innerText()).toBe(shown);
    expect(await page.locator("kefu-chat .sources").count()).toBe(0);
    expect(await page.locator("kefu-chat .cite").count()).toBe(0);
    await page.reload();
    await eventually(() => answers.count(), 2);
    await page.locator("kefu-chat .actions").last().waitFor({ state: "attached" });
    expect(await answers.first().locator("a").count()).toBe(0);
    expect(await page.locator("kefu-chat .sources").count()).toBe(0);
  });
}

test("with learnt pages, links to the sources, the owner's addresses and this site stay (G24)", async () => {
  const own = it.site.page("/help", "Help");
  const text = `[one](https://shop.example/help/delivery) https://docs.example/faq/1 [own](${own}) ${EVIL}`;
  it.service.script(grounded(text, [1], ["https://docs.example/faq"]));
  const { answers, send, idle } = await it.visit();
  await send("Norway?");
  await idle();
  const hrefs = answers
    .locator("a")
    .evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href));
  expect(await hrefs).toEqual([
    "https://shop.example/help/delivery",
    "https://docs.example/faq/1",
    own,
  ]);
});

test("a stored chat gets its sources as data, not from the text (G26, knowledge 7)", async () => {
  it.service.script(inSession(grounded("Five days [1]."), "s1", "t"));
  it.service.kept = [];
  const { page, answers, send, idle } = await it.visit();
  await send("Norway?");
  await idle();
  await page.locator("kefu-chat .sources").waitFor();
  it.service.kept = [
    { role: "user", content: "Norway?", status: "ok" },
    { role: "assistant", content: "Five days [1].", status: "ok", sources: [DELIVERY] },
    { role: "user", content: "And Sweden?", status: "ok" },
    { role: "assistant", content: FORGED["link definitions"], status: "ok", sources: [] },
    { role: "user", content: "Log in?", status: "ok" },
    { role: "assistant", content: `[here](${EVIL}/)`, status: "ok", sources: [] },
  ];
  await page.reload();
  await eventually(() => answers.count(), 3);
  await page.locator("kefu-chat .sources").waitFor({ state: "attached" });
  expect(it.service.looked).toContain(
    "GET /api/sessions/s1/messages?limit=100&sources=true&steps=true t",
  );
  const hrefs = await page
    .locator("kefu-chat .turn a")
    .evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href));
  expect(new Set(hrefs)).toEqual(new Set([DELIVERY.url]));
});
