/** axe-core, run on a page. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** The violations that axe finds on the current page, one line for each node. */
export async function violations(page: Page): Promise<string[]> {
  // Not through the page's own policy, which allows no such script.
  const session = await page.context().newCDPSession(page);
  const run = async (expression: string): Promise<unknown> => {
    const outcome = await session.send("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    return outcome.result.value;
  };
  await run(await readFile(AXE, "utf8"));
  const results = (await run("axe.run()")) as AxeResults;
  expect(results.passes.length).toBeGreaterThan(10);
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}
