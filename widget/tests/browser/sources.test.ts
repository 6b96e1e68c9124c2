/** G24 to G26: the pages that an answer cites, as a visitor sees and opens them. */

import { expect, test } from "vitest";
import { answer } from "../scripted-service.ts";
import { stage } from "./harness.ts";

const it = stage();
const LIST = '\n\n[1]: https://shop.example/help/delivery#no "Delivery times"\n[2]: # "A file"';

test("numbers become links, and the pages stand below as links of 44 px (G25)", async () => {
  const text = "Three to five days [1], says the file [2].\n\n`a[1]` stays [7].";
  it.service.script(answer([text, LIST]));
  const { page, send, idle, answers, errors } = await it.visit();
  await send("Norway?");
  await idle();
  const sources = page.locator("kefu-chat .sources");
  await sources.waitFor();
  expect(it.service.received[0]?.body.sources).toBe("text");
  expect(await sources.getAttribute("aria-label")).toBe("Sources");
  expect(await sources.locator("li").allInnerTexts()).toEqual([
    "1\nDelivery times\nshop.example › help › delivery",
    "2\nA file",
  ]);
  const links = page.locator("kefu-chat .turn a");
  expect(
    await links.evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href)),
  ).toEqual(["https://shop.example/help/delivery#no", "https://shop.example/help/delivery#no"]);
  for (const name of ["target", "rel"]) {
    expect(await sources.locator("a").getAttribute(name)).toBe(
      name === "rel" ? "noopener noreferrer nofollow" : "_blank",
    );
  }
  const box = await sources.locator("a").boundingBox();
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
  it.service.script(answer(["Hello!"]), answer(["Five days [1].", LIST]));
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
  it.service.script(
    answer(["Standard delivery takes 3 to 5 working days [1]. Customs too.", LIST]),
  );
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
