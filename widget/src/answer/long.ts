/** Conversations that are too long to be on the page as a whole. */

/** Above this number of rows, the oldest are taken off the page, but for `KEPT_ROWS`. */
const MOST_ROWS = 80;
export const KEPT_ROWS = 50;

/** Whether the list with the row `node` is too long. `shown`: rows that the visitor wants to see. */
export function isLong({ parentElement }: Element, shown = 0): boolean {
  return !!parentElement && parentElement.childElementCount - shown > MOST_ROWS;
}
