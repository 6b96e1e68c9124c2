/** The conversation fades out above the input, where there is more of it. */

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer } from "../scripted-service.ts";
import { daily, stage } from "./harness.ts";

const it = stage();
const LONG = Array.from({ length: 60 }, () => "MMMMMMMMMMMMMMMM\n\n");
/** The rows of pixels above the end of the list that are looked at. The fade has 20 of them. */
const ROWS = 60;

/** For each row of a picture, the largest difference from the colour in its corner, 0 to 255. */
async function inkOf(picture: Buffer): Promise<readonly number[]> {
  const page = await it.browser.newPage();
  const rows = await page.evaluate(async (encoded) => {
    const bytes = Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes]));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d") as OffscreenCanvasRenderingContext2D;
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    return Array.from({ length: image.height }, (_, row) => {
      const of = data.subarray(row * image.width * 4, (row + 1) * image.width * 4);
      return of.reduce(
        (most, value, at) => Math.max(most, Math.abs(value - (data[at % 4] ?? 0))),
        0,
      );
    });
  }, picture.toString("base64"));
  await page.close();
  return rows;
}

/** The ink of the last rows of the list, at a distance from its end. */
async function lastRows(page: Page, gap: number): Promise<readonly number[]> {
  const box = await page.locator("kefu-chat .log").evaluate((log, wanted) => {
    log.scrollTop = log.scrollHeight - log.clientHeight - wanted;
    const { x, bottom, width } = log.getBoundingClientRect();
    return { x, bottom, width };
  }, gap);
  // The button to the newest message is in the middle, the scroll bar at the right edge.
  const clip = { x: box.x, y: box.bottom - ROWS, width: box.width / 3, height: ROWS };
  return inkOf(await page.screenshot({ clip }));
}

for (const theme of ["light", "dark"]) {
  test(
    `the last lines fade out above the input, and the end of the list does not; ${theme} (D14)`,
    daily(theme === "dark"),
    async () => {
      it.service.script(answer(LONG));
      const { page, send, idle } = await it.visit(
        { "data-theme": theme },
        { viewport: { width: 1000, height: 800 }, reducedMotion: "reduce" },
      );
      await send("Tell me everything");
      await idle();
      await page.locator("kefu-chat .actions").waitFor();
      // Between the lines there is no ink, so each row is seen at several positions of the text.
      const ink = Array<number>(ROWS).fill(0);
      for (let step = 0; step < 12; step += 1) {
        const seen = await lastRows(page, 300 + 3 * step);
        for (const [row, value] of seen.entries()) ink[row] = Math.max(ink[row] ?? 0, value);
      }
      const full = Math.max(...ink);
      expect(full).toBeGreaterThan(150);
      const parts = ink.map((value) => value / full);
      expect(Math.min(...parts.slice(0, ROWS - 22))).toBeGreaterThan(0.9);
      // Half of the way, half of the ink.
      expect(parts[ROWS - 10]).toBeGreaterThan(0.3);
      expect(parts[ROWS - 10]).toBeLessThan(0.7);
      expect(Math.max(...parts.slice(-2))).toBeLessThan(0.15);
      for (const [row, part] of parts.slice(ROWS - 20).entries())
        expect(part).toBeLessThanOrEqual((parts[ROWS - 21 + row] ?? 1) + 0.02);
      // At the end of the list the fade is below the last turn.
      const below = await page.locator("kefu-chat .log").evaluate((log) => {
        log.scrollTop = log.scrollHeight;
        const [turn] = [...log.querySelectorAll(".turn")].slice(-1);
        return log.getBoundingClientRect().bottom - (turn?.getBoundingClientRect().bottom ?? 0);
      });
      expect(below).toBeGreaterThanOrEqual(20);
    },
  );
}
