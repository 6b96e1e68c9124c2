/** The button that scrolls to the newest message, shown while the reader is not there. */

import { button, element } from "../open/view/dom.ts";
import { icon, NEWEST } from "../open/view/icons.ts";
import { AT_END_PX, gapOf } from "./at-end.ts";

/** Adds the button above the end of `log`. The button's row has no height, so it moves nothing. */
export function addJump(log: HTMLElement, name: string): void {
  const node = button(
    { className: "jump", ariaLabel: name, title: name, hidden: true },
    () => {
      // The button is hidden at the end, where it would lose the focus to the page.
      log.focus();
      log.scrollTop = log.scrollHeight;
      // The list follows the text again from now on. The browser's own event may come after more text.
      log.dispatchEvent(new Event("scroll"));
    },
    icon(NEWEST),
  );
  const show = (): void => {
    const isAtEnd = gapOf(log) < AT_END_PX;
    // A value that is set again would make the browser compute the styles again, for each frame.
    if (node.hidden !== isAtEnd) node.hidden = isAtEnd;
  };
  log.after(element("div", { className: "at-end" }, node));
  log.addEventListener("scroll", show, { passive: true });
  // Text arrives without a scroll if the reader has left the end. The browser calls this after the
  // layout of a frame, so that nothing is measured twice.
  const sizes = new ResizeObserver(show);
  const watch = (): void => {
    for (const turn of log.children) sizes.observe(turn);
  };
  new MutationObserver(watch).observe(log, { childList: true });
  sizes.observe(log);
  watch();
}
