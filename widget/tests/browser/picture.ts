/** Opens and stores pictures, in the size and the manner that all of them have. */

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { Stage } from "./harness.ts";

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

export async function openPage(
  it: Stage,
  path: string,
  options: BrowserContextOptions,
): Promise<Page> {
  const context = await it.browser.newContext({
    viewport: DESKTOP,
    deviceScaleFactor: 2,
    locale: "en-US",
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  await page.goto(it.site.origin + path);
  return page;
}

export async function shoot(
  page: Page,
  folder: string,
  name: string,
  fullPage = false,
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const path = `${folder}/${name}.png`;
  await page.screenshot({ path, fullPage });
  try {
    execFileSync("pngquant", ["--force", "--skip-if-larger", "--ext", ".png", "--strip", path]);
  } catch {
    // Larger, but as good.
  }
}
