/** Questions to ask with one click, until the visitor has asked one. */

import type { Texts } from "../texts.ts";
import { button, element } from "./dom.ts";

export class Suggestions {
  readonly node: HTMLDivElement;

  constructor(texts: Texts, suggestions: readonly string[], chosen: (text: string) => void) {
    this.node = element(
      "div",
      { class: "suggestions", part: "suggestions", role: "group", "aria-label": texts.suggestions },
      ...suggestions.map((text) =>
        button({ class: "pill", dir: "auto" }, () => chosen(text), text),
      ),
    );
    this.node.hidden = suggestions.length === 0;
  }

  /** Offers them again, below `node`. */
  offerBelow(node: HTMLElement): void {
    node.after(this.node);
  }

  remove(): void {
    this.node.remove();
  }
}
