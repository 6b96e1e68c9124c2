/**
 * The elements of the tools: the line of the steps and the card. Both stand beside the prose of an
 * answer, and all texts are text nodes, so no text of the model can look like them.
 */

import { button, element } from "../../open/view/dom.ts";
import { CHECK, CLOSE, DOWN, icon } from "../../open/view/icons.ts";
import type { ToolTexts } from "./english.ts";
import type { CardState, Step } from "./events.ts";

type Words = ToolTexts;
type Sign = "ring" | "check" | "alert" | "dash" | "close";

const PATHS = {
  check: CHECK[1],
  close: CLOSE[1],
  alert: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17ZM12 8v4.5M12 16h.01",
  dash: "M6 12h12",
};

/** The words and the sign of a card's state; a card that waits for a click has buttons instead. */
const STATES: Readonly<Partial<Record<CardState, readonly [keyof ToolTexts, Sign]>>> = {
  working: ["working", "ring"],
  done: ["done", "check"],
  failed: ["notDone", "alert"],
  unsure: ["notSure", "alert"],
  unfinished: ["unfinished", "dash"],
  declined: ["declined", "close"],
  expired: ["expired", "dash"],
  gone: ["gone", "dash"],
};

const STEPS: Readonly<Record<string, readonly [keyof ToolTexts, Sign]>> = {
  "output-available": ["done", "check"],
  "output-error": ["stepFailed", "alert"],
  "output-unsure": ["stepUnsure", "alert"],
};

/** What a step that runs is called: `Looking up your order…`. */
export function runningText({ title }: Step): string {
  return `${title.replace(/[.…。]+$/, "")}…`;
}

/** The steps of an answer; several become one line when the answer has ended. */
export function stepList(words: Words) {
  const node = element("div", { className: "steps" });
  let drawn = "";
  return {
    node,
    /** `isFolded`: whether several steps become one line, which opens to them. */
    show: (steps: readonly Step[], isOpen: boolean, isFolded: boolean): void => {
      const wanted = JSON.stringify([steps, isOpen, isFolded]);
      if (wanted === drawn) return;
      drawn = wanted;
      node.hidden = steps.length === 0;
      const lines = steps.map((step) => lineOf(words, step, isOpen));
      node.replaceChildren(...(isFolded ? [folded(words, steps, lines)] : lines));
    },
  };
}

function folded(
  words: Words,
  steps: readonly Step[],
  lines: readonly HTMLElement[],
): HTMLDetailsElement {
  const isWhole = steps.every(({ state }) => state === "output-available");
  const text = words.lookedUp.replace("{n}", `${steps.length}`);
  const summary = element("summary", {}, icon(DOWN), isWhole ? text : `${text} · ${words.partly}`);
  const items = lines.map((line) => element("li", {}, line));
  // Safari drops the meaning of a list without markers.
  return element("details", {}, summary, element("ul", { role: "list" }, ...items));
}

function lineOf(words: Words, step: Step, isOpen: boolean): HTMLElement {
  const ended = STEPS[step.state];
  const isRunning = !ended && isOpen;
  const [word, sign] = ended ?? (["unfinished", "dash"] as const);
  const title = element("bdi", {}, isRunning ? runningText(step) : step.title);
  // The sign says it.
  const className = sign === "check" ? "spoken" : "";
  const state = isRunning ? [] : [element("small", { className }, words[word])];
  return element("div", { className: "step" }, signOf(isRunning ? "ring" : sign), title, ...state);
}

function signOf(sign: Sign): Element {
  return sign === "ring"
    ? element("i", { className: "ring", ariaHidden: "true" })
    : icon([sign, PATHS[sign]]);
}

/**
 * The card with the question `text`, as plain text. `clicked` is called once for each click;
 * `show` draws the state after it.
 */
export function cardView(words: Words, text: string, clicked: (isYes: boolean) => void) {
  const foot = element("div", { className: "foot" });
  const node = element(
    "div",
    { className: "approval", role: "group", tabIndex: -1 },
    element("p", { className: "what", dir: "auto" }, text),
    foot,
  );
  const choice = (isYes: boolean): HTMLButtonElement =>
    button(
      { className: isYes ? "yes" : "no" },
      ({ currentTarget }) => {
        if (!(currentTarget as Element).ariaDisabled) clicked(isYes);
      },
      isYes ? words.yes : words.no,
    );
  const buttons = [choice(true), choice(false)];
  const row = element("div", { className: "actions" });
  let drawn: CardState | undefined;
  return {
    node,
    /** The row for a button below the state. */
    row,
    /** `isReady`: whether the visitor can click already. */
    show: (state: CardState, isReady: boolean): void => {
      for (const one of buttons) one.ariaDisabled = isReady ? null : "true";
      if (state === drawn) return;
      const hadFocus = node.matches(":focus-within");
      drawn = state;
      node.dataset.state = state;
      if (state === "asked") {
        node.ariaLabel = words.confirm;
        foot.replaceChildren(...buttons);
        return;
      }
      const [word, sign] = STATES[state] ?? [];
      node.ariaLabel = word ? words[word] : null;
      foot.hidden = !word;
      if (word && sign) foot.replaceChildren(signOf(sign), element("span", {}, words[word]));
      if (state === "unsure") foot.after(row);
      else row.remove();
      // The button that had the focus is gone.
      if (hadFocus) node.focus({ preventScroll: true });
    },
  };
}
