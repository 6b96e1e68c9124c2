/**
 * Keys for an operator's frequent acts, and the help that lists them. A control names its key in
 * aria-keyshortcuts; the key presses it, or puts the cursor into it.
 */

import { button, el } from "./dom.ts";
import type { Operator } from "./state/operator.ts";
import type { Store } from "./state/store.ts";
import { t } from "./texts.ts";

const FIELDS = "input, select, textarea";
/** A letter so soon after another one is part of a word, whose field may have gone. */
const TYPING_MS = 300;

export interface ShortcutActs {
  /** Puts the focus on the next row of the list, or on the one before. */
  step(by: 1 | -1): void;
  /** Leaves the opened view. */
  back(): void;
}

/** Listens to the keys of the page. Returns the button that opens the help, and the help. */
export function shortcuts(operator: Store<Operator>, acts: ShortcutActs): HTMLElement[] {
  const dialog = help(operator);
  let keyAt = -TYPING_MS;
  addEventListener("keydown", (event) => {
    const { key, target, isComposing, timeStamp } = event;
    const isTyping = timeStamp - keyAt < TYPING_MS;
    keyAt = key.length === 1 ? timeStamp : -TYPING_MS;
    if (event.ctrlKey || event.metaKey || event.altKey || isComposing) return;
    if (document.body.classList.contains("locked") || document.querySelector("dialog[open]"))
      return;
    const isField = target instanceof Element && target.matches(FIELDS);
    if (key === "Escape") {
      if (isField) document.querySelector<HTMLElement>("h2[tabindex]")?.focus();
      else acts.back();
      return;
    }
    if (isField || !operator.get().hasKeys) return;
    if (key === "?") dialog.showModal();
    else if (key === "j" || key === "k") acts.step(key === "j" ? 1 : -1);
    else if (isTyping || !press(key)) return;
    event.preventDefault();
  });
  const opener = { className: "quiet when-open keys", ariaLabel: t.keyboard, title: t.keyboard };
  return [button(opener, () => dialog.showModal(), "?"), dialog];
}

/** Whether a control of the page has the key. */
function press(key: string): boolean {
  const control = [...document.querySelectorAll<HTMLElement>("[aria-keyshortcuts]")].find(
    (one) => one.ariaKeyShortcuts === key && one.checkVisibility(),
  );
  if (control?.matches(FIELDS)) control.focus();
  else control?.click();
  return control !== undefined;
}

function help(operator: Store<Operator>): HTMLDialogElement {
  const list = el("dl", { className: "shortcuts" });
  for (const [key, text] of Object.entries(t.shortcuts)) {
    list.append(el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)));
  }
  const isOn = el("input", { type: "checkbox", checked: operator.get().hasKeys });
  isOn.addEventListener("change", () => operator.patch({ hasKeys: isOn.checked }));
  const dialog = el(
    "dialog",
    { ariaLabel: t.keyboard },
    el("h2", {}, t.keyboard),
    list,
    el("label", { className: "check" }, isOn, t.useKeys),
  );
  const close = button({ className: "quiet", autofocus: true }, () => dialog.close(), t.closeHelp);
  dialog.append(el("div", { className: "tools" }, close));
  return dialog;
}
