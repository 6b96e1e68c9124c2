/** What a visitor may do with an answer that has ended: copy it, ask for another, rate it. */

import type { Rating, Turn } from "../conversation.ts";
import type { Texts } from "../texts.ts";
import { copyButton } from "./code.ts";
import { button, element, icon } from "./dom.ts";

export interface Acts {
  again(): void;
  /** `done` is called when it counts. */
  rate(turn: Turn, rating: Rating, done: () => void): void;
}

/** A row of buttons. */
export function actions(texts: Texts, turn: Turn, acts: Acts): HTMLElement {
  const looks = (name: "copy" | "again" | "up" | "down") => ({
    className: name,
    ariaLabel: texts[name],
  });
  const thumbs = (["up", "down"] as const).map((rating) => {
    const rate = (): void => acts.rate(turn, turn.rating === rating ? "none" : rating, show);
    return [rating, button(looks(rating), rate, icon("up"))] as const;
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
      texts.copied,
      () => turn.answer,
      (node, isCopied) => node.replaceChildren(icon(isCopied ? "check" : "copy")),
    ),
    button(looks("again"), acts.again, icon("again")),
    ...thumbs.map(([, thumb]) => thumb),
  );
}
