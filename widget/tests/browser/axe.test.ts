/** axe-core, with its best practices, in every state, light and dark, in both directions. */

import { expect, test } from "vitest";
import { chunk, refusal } from "../scripted-service.ts";
import { pageWith } from "../site.ts";
import { violations } from "./axe.ts";
import { daily, stage, type Visit } from "./harness.ts";

const it = stage();

const ANSWER = "Yes:\n\n- **one**\n- [two](https://example.com)\n\n```js\nlet a = 1;\n```\n";

for (const theme of ["light", "dark"] as const) {
  for (const direction of ["ltr", "rtl"] as const) {
    test(
      `axe finds nothing: closed, open, streaming, error; ${theme}, ${direction} (W11)`,
      daily(theme === "dark" && direction === "rtl"),
      async () => {
        it.service.script(
          { acts: [{ send: chunk(ANSWER) }, "silence"] },
          refusal(503, "upstream_service_unavailable"),
        );
        const visit = await visitIn(theme, direction);
        const { page, launcher, input, act, send, answers, retry } = visit;
        const found: string[] = [];
        const look = async (state: string): Promise<void> => {
          for (const violation of await violations(page)) found.push(`${state}: ${violation}`);
        };
        await look("closed");
        await launcher.click();
        await look("open");
        await send("Is it?");
        await page.waitForTimeout(600);
        await page.locator("kefu-chat .agree").click();
        await answers.getByText("one").waitFor();
        await look("streaming");
        await page.waitForTimeout(600);
        await act.click();
        await page.locator("kefu-chat .actions").waitFor();
        await look("stopped");
        await send("And now?");
        await retry.waitFor();
        await input.fill("A draft");
        await look("error");
        expect(found).toEqual([]);
      },
    );
  }
}

test("axe finds nothing on the playground and the gallery (W11)", { tags: "slow" }, async () => {
  const found: string[] = [];
  for (const [path, colorScheme] of [
    ["/playground", "light"],
    ["/gallery", "dark"],
  ] as const) {
    const { page } = await it.open(it.site.origin + path, { colorScheme });
    await page.frameLocator("iframe").first().locator("kefu-chat .launcher").waitFor();
    for (const violation of await violations(page)) found.push(`${path}: ${violation}`);
  }
  expect(found).toEqual([]);
});

async function visitIn(theme: string, direction: string): Promise<Visit> {
  const html = pageWith({
    "data-api-url": it.service.url,
    "data-lang": direction === "rtl" ? "ar" : "en",
    "data-theme": theme,
    "data-suggestions": "Do you ship?|Where are you?",
    "data-consent": "Your messages are sent to us.",
    "data-stall-timeout": "60",
  });
  const page = html.replace("<html ", `<html dir="${direction}" `);
  const visit = await it.visit({}, { reducedMotion: "reduce" }, page);
  await visit.launcher.waitFor();
  // As a language that is read from the right sets it.
  await visit.page
    .locator("kefu-chat")
    .evaluate((host, dir) => host.setAttribute("dir", dir), direction);
  return visit;
}
