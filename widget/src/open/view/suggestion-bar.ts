/** Suggested questions, shown until the visitor has sent one message. */

import { button, element } from "./dom.ts";

export function suggestionBar(
  label: string,
  suggestions: readonly string[],
  chosen: (text: string) => void,
): HTMLElement {
  return element(
    "div",
    {
      className: "suggestions",
      part: "suggestions",
      role: "group",
      ariaLabel: label,
      hidden: suggestions.length === 0,
    },
    ...suggestions.map((text) =>
      button({ className: "pill", dir: "auto" }, () => chosen(text), text),
    ),
  );
}
