/** The site's logo: `data-logo`. */

import { expect, test } from "vitest";
import { answer } from "../scripted-service.ts";
import { violations } from "./axe.ts";
import { daily, eventually, stage } from "./harness.ts";

const it = stage();
const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40" viewBox="0 0 80 40"><rect width="80" height="40" fill="#b4552d"/></svg>';

for (const [name, logo] of [
  ["an address of the site", "/logo.svg"],
  ["a data URL", `data:image/svg+xml,${encodeURIComponent(SVG)}`],
] as const) {
  test(
    `${name} is shown in the header and above the greeting, until the first question (W10)`,
    daily(logo === "/logo.svg"),
    async () => {
      it.service.script(answer(["Yes."]));
      it.site.page("/logo.svg", SVG);
      const { page, panel, send, errors, input } = await it.visit({ "data-logo": logo });
      const images = panel.locator("img");
      await eventually(() => images.count(), 2);
      const boxOf = async (selector: string) => {
        const box = await panel.locator(selector).boundingBox();
        if (!box) throw new Error(`${selector} is not shown`);
        return box;
      };
      const sizeOf = async () => {
        const { width, height } = await boxOf(".head img");
        return [width, height];
      };
      await eventually(sizeOf, [72, 36]); // the panel grows while it opens
      const [mark, heading] = [await boxOf(".head .mark"), await boxOf(".heading")];
      expect(mark.x + mark.width).toBeLessThan(heading.x);
      const [above, greeting] = [await boxOf(".log img"), await boxOf(".log > .answer")];
      expect([above.width, above.height]).toEqual([96, 48]);
      expect(Math.round(above.x)).toBe(Math.round(greeting.x + 20));
      expect(await panel.locator(".log > .answer").innerText()).toBe(
        "Hello! What can we help you with?",
      );
      expect(await violations(page)).toEqual([]);
      await send("Do you ship?");
      await page.locator("kefu-chat .actions").waitFor();
      expect(await panel.locator(".log img").isVisible()).toBe(false);
      expect(await panel.locator(".head img").isVisible()).toBe(true);
      await page.evaluate(() => window.ChatWidget?.reset());
      expect(await panel.locator(".log img").isVisible()).toBe(true);
      expect(await input.isVisible()).toBe(true);
      expect(errors).toEqual([]);
    },
  );
}

test("without a logo the mark stands above the greeting, until the first question (W25)", async () => {
  it.service.script(answer(["Yes."]));
  const { page, panel, send } = await it.visit();
  const mark = panel.locator(".log > .answer > .mark");
  const sizeOf = async () => {
    const { width, height } = (await mark.boundingBox()) ?? {};
    return [width, height];
  };
  await eventually(sizeOf, [48, 48]); // the panel grows while it opens
  await send("Do you ship?");
  await page.locator("kefu-chat .actions").waitFor();
  expect(await mark.isVisible()).toBe(false);
  expect(await panel.locator(".head .mark").isVisible()).toBe(true);
  await page.evaluate(() => window.ChatWidget?.reset());
  expect(await mark.isVisible()).toBe(true);
});

test("a logo of another site, or one that is no image, is named in the console and not fetched (W13)", async () => {
  it.site.page("/broken.svg", "no image");
  for (const [logo, reason] of [
    ["https://cdn.example/logo.png", "must be on this site or a data URL"],
    ["http://localhost:9/logo.png", "must be on this site or a data URL"],
    ["javascript:alert(1)", "must be on this site or a data URL"],
    ["data:text/html,x", "must be on this site or a data URL"],
    ["//[", "must be on this site or a data URL"],
    ["/broken.svg", "cannot be shown"],
  ] as const) {
    const { page, panel, errors } = await it.visit({ "data-logo": logo });
    await eventually(() => errors.some((text) => text.includes(reason)), true);
    expect(errors.find((text) => text.includes("data-logo"))).toBe(
      `Chat widget: data-logo ${reason}: ${logo}`,
    );
    expect(await panel.locator("img").count()).toBe(0);
    for (const mark of [".head .mark svg", ".log .mark svg"]) {
      expect(await panel.locator(mark).isVisible()).toBe(true);
    }
    const fetched = await page.evaluate(() =>
      performance.getEntriesByType("resource").map(({ name }) => name),
    );
    expect(fetched.filter((url) => /example|localhost/.test(url))).toEqual([]);
    await page.context().close();
  }
});
