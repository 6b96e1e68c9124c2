/** A block of code: a head with its language and a Copy button, and lines that scroll sideways. */

import type { Texts } from "../texts.ts";
import { button, element, say } from "./dom.ts";

/** How long the button says that it has copied. */
const COPIED_MS = 2_000;

/** The card, and the element that its lines go into. */
export function codeCard(
  texts: Texts,
  language: string,
): { node: HTMLElement; inner: HTMLElement } {
  const inner = element("code");
  const copier = copyButton(
    { className: "copy" },
    texts.copied,
    () => inner.textContent ?? "",
    (node, isCopied) => node.replaceChildren(isCopied ? texts.copied : texts.copy),
  );
  const node = element(
    "figure",
    { className: "code" },
    element("figcaption", {}, element("span", { dir: "auto" }, language), copier),
    element(
      "pre",
      { tabIndex: 0, dir: "ltr", role: "group", ariaLabel: language || texts.code },
      inner,
    ),
  );
  return { node, inner };
}

/** A button that copies; `show` draws it, for a moment as copied, and the panel says so aloud. */
export function copyButton(
  attributes: Readonly<Record<string, string>>,
  copied: string,
  text: () => string,
  show: (node: HTMLElement, isCopied: boolean) => void,
): HTMLButtonElement {
  const node = button(attributes, async () => {
    if (!(await copy(text(), node))) return;
    say(node, copied);
    show(node, true);
    setTimeout(() => show(node, false), COPIED_MS);
  });
  show(node, false);
  return node;
}

/** Whether the text went into the clipboard; pages on http have only the old way to it. */
async function copy(text: string, near: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = element("textarea", { className: "spoken", readOnly: true, value: text });
    near.after(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    near.focus({ preventScroll: true });
    return isCopied;
  }
}
