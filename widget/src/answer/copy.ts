/** Copies the text of an answer or of a code block. */

import { button, element } from "../open/view/dom.ts";
import type { AnswerTexts } from "./english.ts";

/** Milliseconds for which the button confirms that the text was copied. */
const COPIED_MS = 2_000;

/** The Copy button of a code block. */
export function codeCopier(
  texts: AnswerTexts,
  speak: (text: string) => void,
  text: () => string,
): HTMLButtonElement {
  return copyButton({ className: "copy" }, text, (node, isCopied) => {
    node.replaceChildren(isCopied ? texts.copied : texts.copy);
    if (isCopied) speak(texts.copied);
  });
}

/** A button that copies; `show` draws it, and for a moment the confirmation. */
export function copyButton(
  attributes: Readonly<Record<string, string>>,
  text: () => string,
  show: (node: HTMLElement, isCopied: boolean) => void,
): HTMLButtonElement {
  const node = button(attributes, async () => {
    if (!(await copy(text(), node))) return;
    show(node, true);
    setTimeout(show, COPIED_MS, node, false);
  });
  show(node, false);
  return node;
}

/** Copies the text. Returns false for a refused copy. Pages on http have only `execCommand`. */
export async function copy(text: string, near: HTMLElement): Promise<boolean> {
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
