/** The buttons below a finished answer: copy it, request a new answer, rate it. */

import { isClick, type Rating, type Turn } from "../open/turn.ts";
import { button, element } from "../open/view/dom.ts";
import { AGAIN, CHECK, COPY, icon, THUMB } from "../open/view/icons.ts";
import { copyButton } from "./copy.ts";
import type { AnswerTexts } from "./english.ts";
import { citedOf, withSources } from "./sources.ts";

export interface ActionActs {
  again(): void;
  /** `done` is called after the rating has changed. */
  rate(turn: Turn, rating: Rating, done: () => void): void;
}

/** A row of buttons. */
export function actions(
  texts: AnswerTexts,
  speak: (text: string) => void,
  turn: Turn,
  acts: ActionActs,
): HTMLElement {
  const looks = (name: "copy" | "again" | "up" | "down") => ({
    className: name,
    ariaLabel: texts[name],
    title: texts[name],
  });
  const thumbs = (["up", "down"] as const).map((rating) => {
    const rate = (): void => acts.rate(turn, turn.rating === rating ? "none" : rating, show);
    return [rating, button(looks(rating), rate, icon(THUMB))] as const;
  });
  const show = (): void => {
    for (const [rating, thumb] of thumbs) {
      thumb.ariaPressed = String(turn.rating === rating);
    }
  };
  show();
  return element(
    "div",
    { className: "actions" },
    copyButton(
      looks("copy"),
      () => withSources(turn.answer, citedOf(turn.sources, location.href)),
      (node, isCopied) => {
        node.replaceChildren(icon(isCopied ? CHECK : COPY));
        if (isCopied) speak(texts.copied);
      },
    ),
    // A message of another tab has no id here, by which the service could find it; and a click on
    // a card is never repeated.
    ...(turn.id && !isClick(turn) ? [button(looks("again"), acts.again, icon(AGAIN))] : []),
    ...thumbs.map(([, thumb]) => thumb),
  );
}
