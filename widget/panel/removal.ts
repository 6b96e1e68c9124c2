/** A button that deletes something after a question, with or without a signed receipt. */

import { button, el } from "./dom.ts";
import { t } from "./texts.ts";

/** The button and its dialog. */
export function removal(sure: string, remove: (wantsReceipt: boolean) => void): HTMLElement[] {
  const receipt = el("input", { type: "checkbox" });
  const dialog = el(
    "dialog",
    { ariaLabel: t.remove },
    el("p", {}, sure),
    el("label", { className: "check" }, receipt, t.withReceipt),
  );
  const really = () => {
    dialog.close();
    remove(receipt.checked);
  };
  dialog.append(
    el(
      "div",
      { className: "tools" },
      button({ className: "quiet", autofocus: true }, () => dialog.close(), t.cancel),
      button({ className: "danger" }, really, t.remove),
    ),
  );
  return [button({ className: "quiet warn" }, () => dialog.showModal(), t.remove), dialog];
}
