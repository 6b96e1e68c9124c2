/** Buttons for what cannot be undone: a dialog asks first. */

import { button, el } from "./dom.ts";
import { t } from "./texts.ts";

/** A button that deletes something, with or without a signed receipt; and its dialog. */
export function removal(sure: string, remove: (wantsReceipt: boolean) => void): HTMLElement[] {
  const receipt = el("input", { type: "checkbox" });
  const choice = el("label", { className: "check" }, receipt, t.withReceipt);
  return askedFirst(t.remove, sure, () => remove(receipt.checked), choice);
}

/** A button and its dialog, which asks `sure` before `act`. */
export function askedFirst(
  name: string,
  sure: string,
  act: () => void,
  ...more: readonly HTMLElement[]
): HTMLElement[] {
  const dialog = el("dialog", { ariaLabel: name }, el("p", {}, sure), ...more);
  const really = () => {
    dialog.close();
    act();
  };
  dialog.append(
    el(
      "div",
      { className: "tools" },
      button({ className: "quiet", autofocus: true }, () => dialog.close(), t.cancel),
      button({ className: "danger" }, really, name),
    ),
  );
  return [button({ className: "quiet warn" }, () => dialog.showModal(), name), dialog];
}
