/** Formulas in answers (W25). */

import { expect, test } from "vitest";
import { answer } from "../scripted-service.ts";
import { violations } from "./axe.ts";
import { eventually, stage } from "./harness.ts";

const it = stage();

const TEXT = [
  "The root is \\(x = \\frac{-b \\pm \\sqrt{b^2-4ac}}{2a}\\), and:\n\n",
  "\\[\\sum_{i=1}^n i = \\frac{n(n+1)}{2}\\]\n\nNot read: \\(\\unknown{x}\\). ",
  "Code: `\\(a\\)` stays, $$a^2$$ does not.\n",
];

test("formulas are drawn when the answer is complete; others, and those in code, stay as written (W25)", async () => {
  it.service.script(answer(TEXT));
  const { page, send, answers, idle, errors } = await it.visit({}, { reducedMotion: "reduce" });
  await send("How?");
  await idle();
  const formulas = page.locator("kefu-chat math");
  await eventually(() => formulas.count(), 3);
  const [first, second] = await formulas.evaluateAll((nodes) =>
    nodes.map((node) => {
      const [above, below] = [...(node.querySelector("mfrac")?.children ?? [])].map((part) =>
        part.getBoundingClientRect(),
      );
      return {
        display: node.getAttribute("display"),
        isStacked: !!above && !!below && above.bottom <= below.top,
        names: [...new Set([...node.querySelectorAll("*")].map(({ localName }) => localName))],
        isMath: node instanceof MathMLElement,
      };
    }),
  );
  expect(first).toMatchObject({ display: null, isStacked: true, isMath: true });
  expect(first?.names).toEqual(expect.arrayContaining(["mfrac", "msqrt", "msup"]));
  expect(second).toMatchObject({ display: "block", isStacked: true });
  const text = await answers.innerText();
  expect(text).toContain("Not read: \\(\\unknown{x}\\). Code: \\(a\\) stays,");
  expect(text).not.toContain("$$");
  expect(await violations(page)).toEqual([]);
  expect(errors).toEqual([]);
});

test("formulas between single dollars are drawn, prices and variables are not (W25)", async () => {
  const written = [
    "设$\\frac{a}{b}$为 $x_{1}*x_{2}*x_3$，$n$, and $\\int_0^1 f(x)\\,dx$.",
    "From $5 to $10, US$5 = A$6, $HOME/$USER, $a or $b, `$x^2$`, (5 $, 6 $).",
  ];
  it.service.script(answer([written.join("\n\n")]));
  const { page, send, answers, idle } = await it.visit({}, { reducedMotion: "reduce" });
  await send("How?");
  await idle();
  await eventually(() => page.locator("kefu-chat math").count(), 4);
  expect(await answers.locator("p").nth(0).innerText()).not.toMatch(/[$\\]/);
  expect(await answers.locator("p").nth(1).innerText()).toBe(written[1]?.replaceAll("`", ""));
});

test("a wide formula scrolls in itself, from the left in Arabic, too (W9, W25)", async () => {
  const wide = Array.from({ length: 40 }, (_, at) => `x_{${at}}`).join(" + ");
  it.service.script(answer([`الجواب:\n\n$$${wide}$$\n`]));
  const { page, send } = await it.visit({ "data-lang": "ar" }, { reducedMotion: "reduce" });
  await send("كيف؟");
  await page.locator("kefu-chat .actions").waitFor();
  const formula = page.locator("kefu-chat .formula");
  await formula.waitFor();
  const found = await formula.evaluate((node) => ({
    scrolls: node.scrollWidth > node.clientWidth,
    isAtStart:
      (node.querySelector("msub") as Element).getBoundingClientRect().left >=
      node.getBoundingClientRect().left - 1,
    tabIndex: (node as HTMLElement).tabIndex,
  }));
  expect(found).toEqual({ scrolls: true, isAtStart: true, tabIndex: 0 });
  const isSideways = await page
    .locator("kefu-chat .log")
    .evaluate((log) => log.scrollWidth > log.clientWidth);
  expect(isSideways).toBe(false);
  expect(await violations(page)).toEqual([]);
});

test("an answer without a formula does not fetch their file (W25)", async () => {
  it.service.script(answer(["It costs $5, and $6 (or [7])."]));
  const { send, page, requests } = await it.visit();
  await send("How?");
  await page.locator("kefu-chat .actions").waitFor();
  expect(requests.filter((url) => url.includes("chat-widget-answer"))).toHaveLength(1);
  expect(requests.filter((url) => url.includes("formulas"))).toEqual([]);
});
