/** The distance of the log from its end. The first answer uses the code in transcript.ts. */

/** Pixels from the end within which the log scrolls with its text, as in transcript.ts. */
export const AT_END_PX = 48;

/** The distance from the end in pixels. */
export function gapOf({ scrollHeight, scrollTop, clientHeight }: Element): number {
  return scrollHeight - scrollTop - clientHeight;
}

/** Calls `add`, which makes `log` longer. A log at its end, or so near to it, stays at its end. */
export function atEnd(log: Element | null | undefined, add: () => void, nearPx = 2): void {
  const isAtEnd = log && gapOf(log) < nearPx;
  add();
  if (isAtEnd) log.scrollTop = log.scrollHeight;
}
