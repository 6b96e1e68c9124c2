/** axe-core, run on a page. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** The violations that axe finds on the current page, one line for each node. */
export async function violations(page: Page): Promise<string[]> {
  // Not as an element of the page, whose own policy allows no such script.
  const isThere = await page.evaluate(() => "axe" in globalThis);
  if (!isThere) await page.evaluate(await readFile(AXE, "utf8"));
  const results = await page.evaluate<AxeResults>("axe.run()");
  expect(results.passes.length).toBeGreaterThan(10);
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}
