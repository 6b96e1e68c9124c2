/** The seconds until the widget tries again by itself, in the note about the delay. */

import { element } from "../open/view/dom.ts";
import type { AnswerTexts } from "./english.ts";

/**
 * Counts down to `due`, by `performance.now()`, at the end of `note` until the note is removed. Screen
 * readers announce the number once, at the start.
 */
export function countDown(
  texts: AnswerTexts,
  speak: (text: string) => void,
  note: HTMLElement,
  due: number,
): void {
  const line = element("span", { className: "countdown" });
  const show = (): void => {
    const left = due - performance.now();
    const seconds = Math.max(1, Math.ceil(left / 1_000));
    line.textContent = texts.tryingAgain.replace("{seconds}", `${seconds}`);
    // Milliseconds until the number changes. A sleeping device may be late.
    if (line.isConnected && left > 0) setTimeout(show, left % 1_000 || 1_000);
  };
  const reason = note.textContent;
  note.append(line);
  show();
  speak(`${reason} ${line.textContent}`);
}
