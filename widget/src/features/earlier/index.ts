/**
 * Takes the oldest rows of a long conversation off the page, because the browser's work for each message and
 * each key grows with all rows. A button above the others shows them again.
 */

import { gapOf } from "../../answer/at-end.ts";
import type { Feature, Kit } from "../../answer/feature.ts";
import { isLong, KEPT_ROWS } from "../../answer/long.ts";
import { adopt, button } from "../../open/view/dom.ts";
import stylesheet from "./earlier.css";

/** In English: the button above the oldest message on the page. */
export const ENGLISH = { earlier: "Earlier messages" };

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<typeof ENGLISH> {}
}

export default function earlier({ root, texts }: Kit): Feature {
  adopt(root, stylesheet);
  const words = { ...ENGLISH, ...texts };
  /** The rows that are off the page, in order. */
  let away: Element[] = [];
  /** The number of rows that the visitor has taken back. */
  let shown = 0;
  const more = button({ className: "earlier" }, () => show(), words.earlier);
  const show = (): void => {
    const log = more.parentElement;
    if (!log) return;
    const below = log.scrollHeight - log.scrollTop;
    const back = away.splice(-KEPT_ROWS);
    shown += back.length;
    more.after(...back);
    // The focus would be lost with the button.
    log.focus({ preventScroll: true });
    if (away.length === 0) more.remove();
    // What the visitor reads stays in its place.
    log.scrollTop = log.scrollHeight - below;
  };
  const takeAway = (log: Element): void => {
    const [greeting, ...rows] = [...log.children].filter((row) => row !== more);
    const old = rows.slice(0, rows.length - shown - KEPT_ROWS);
    away.push(...old);
    for (const row of old) row.remove();
    greeting?.after(more);
  };
  return {
    changed: (row, { ending }) => {
      const log = row.parentElement;
      // The list was cleared for another conversation.
      if (!more.isConnected && away.length > 0) {
        away = [];
        shown = 0;
      }
      if (!log || ending !== "open" || !isLong(row, shown)) return;
      // Not while the visitor reads above.
      if (gapOf(log) < log.clientHeight) takeAway(log);
    },
  };
}
