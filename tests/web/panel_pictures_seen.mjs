// An operator looks at the pictures of a chat in a real Chromium, opens one, and finds one gone.

import { newOperator } from "./operator.mjs";

/** `id`: the chat, whose message has two pictures, and one that is gone. */
export default async function visit(browser, service, token, id) {
  const { page, errors, violations } = await newOperator(browser, { reducedMotion: "reduce" });
  await page.route("**/favicon.ico", (route) => route.fulfill({ body: "" }));
  await page.goto(`${service}/admin#s=${id}`);
  await page.locator("input[name=token]").fill(token);
  await page.locator(".entrance button").click();
  const pictures = page.locator(".pictures");
  await pictures.waitFor();
  await pictures.locator("p").waitFor();
  await page.waitForFunction(
    () => [...document.querySelectorAll(".pictures canvas")].every((one) => one.width <= 320),
  );
  const small = await pictures
    .locator("canvas")
    .evaluateAll((all) => all.map((one) => [one.width, one.height]));
  const pixel = await pictures
    .locator("canvas")
    .first()
    .evaluate((canvas) => [...canvas.getContext("2d").getImageData(1, 1, 1, 1).data]);
  const said = await pictures.locator("p").allInnerTexts();
  await pictures.getByRole("button", { name: "Open the picture" }).first().click();
  const full = page.locator("dialog.full canvas");
  await full.waitFor();
  await page.waitForFunction(() => document.querySelector("dialog.full canvas").width > 320);
  const opened = await full.evaluate((canvas) => [canvas.width, canvas.height]);
  await page.keyboard.press("Escape");
  await page.locator("dialog.full").waitFor({ state: "detached" });
  return { small, opened, said, pixel, errors, violations: await violations() };
}
