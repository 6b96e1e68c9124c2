/** A code block: a head with its language and a Copy button, and lines that scroll sideways. */

import { element } from "../open/view/dom.ts";
import type { AnswerTexts } from "./english.ts";

/** The names of tables and code blocks. */
export type ProseTexts = Pick<AnswerTexts, "table" | "code">;

/** The Copy button for the text that `text` returns. */
export type CopierOf = (text: () => string) => HTMLElement;

/** The block's element, and the element for its lines. */
export function codeCard(
  texts: ProseTexts,
  language: string,
  copierOf: CopierOf | undefined,
): { node: HTMLElement; inner: HTMLElement } {
  const inner = element("code");
  const head = element("figcaption", {}, element("span", { dir: "auto" }, language));
  if (copierOf) head.append(copierOf(() => inner.textContent ?? ""));
  const node = element(
    "figure",
    { className: "code" },
    head,
    element(
      "pre",
      { tabIndex: 0, dir: "ltr", role: "group", ariaLabel: language || texts.code },
      inner,
    ),
  );
  return { node, inner };
}
