/** Questions to ask with one click, until the visitor has asked one. */

import type { Texts } from "../texts.ts";
import { button, element } from "./dom.ts";

export function suggestionBar(
  texts: Texts,
  suggestions: readonly string[],
  chosen: (text: string) => void,
): HTMLElement {
  return element(
    "div",
    {
      className: "suggestions",
      part: "suggestions",
      role: "group",
      ariaLabel: texts.suggestions,
      hidden: suggestions.length === 0,
    },
    ...suggestions.map((text) =>
      button({ className: "pill", dir: "auto" }, () => chosen(text), text),
    ),
  );
}
