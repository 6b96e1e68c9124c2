/** A code block: a head with its language and a Copy button, and lines that scroll sideways. */

import type { Texts } from "../open/texts.ts";
import { element } from "../open/view/dom.ts";
import type { UseExtras } from "./answer.ts";

/** The names of tables and code blocks. */
export type ProseTexts = Pick<Texts, "table" | "code">;

/** The block's element, and the element for its lines. */
export function codeCard(
  texts: ProseTexts,
  language: string,
  useExtras: UseExtras,
): { node: HTMLElement; inner: HTMLElement } {
  const inner = element("code");
  const head = element("figcaption", {}, element("span", { dir: "auto" }, language));
  useExtras(({ codeCopier }) => head.append(codeCopier(() => inner.textContent ?? "")));
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
