/** Translations below the messages of a session, and their switch. */

import { button, el } from "./dom.ts";
import type { Operator } from "./state/operator.ts";
import type { Store } from "./state/store.ts";
import type { Translation } from "./state/translation.ts";
import { reasonOf } from "./state/trouble.ts";
import { t } from "./texts.ts";

/** The switch for the translations of a session, and of what the operator writes in it. */
export function translateSwitch(translation: Translation, operator: Store<Operator>): HTMLElement {
  const toggle = () => {
    const translates = !translation.isOn.get();
    operator.patch({ translates });
    translation.isOn.set(translates);
  };
  const control = button({ className: "quiet" }, toggle, t.translate);
  translation.isOn.follow((isOn) => {
    control.ariaPressed = String(isOn);
  });
  return control;
}

/** The translation of a text, while the switch is on; hidden if the text is in that language. */
export function translated(text: string, translation: Translation): HTMLElement {
  const node = el("p", { className: "translation", dir: "auto", hidden: true });
  const show = (shown: string, isFailure: boolean): void => {
    node.classList.toggle("muted", isFailure);
    node.lang = isFailure ? "" : navigator.language;
    node.textContent = shown;
    node.hidden = !shown || !translation.isOn.get();
  };
  translation.isOn.follow((isOn) => {
    node.hidden = true;
    if (!isOn) return;
    void translation.of(text).then(
      (found) => show(found.trim() === text.trim() ? "" : found, false),
      (error: unknown) => show(t.notTranslated(reasonOf(error)), true),
    );
  });
  return node;
}
