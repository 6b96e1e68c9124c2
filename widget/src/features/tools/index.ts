/** The tools that an answer has used, and the card that asks the visitor before something is changed. */

import { AT_END_PX, atEnd } from "../../answer/at-end.ts";
import type { Feature, Kit } from "../../answer/feature.ts";
import { isClick, type Turn } from "../../open/turn.ts";
import { adopt } from "../../open/view/dom.ts";
import { clicking } from "./click.ts";
import { ENGLISH } from "./english.ts";
import {
  ASK_PERSON,
  type Card,
  type CardState,
  clickText,
  isShown,
  stateOf,
  type Used,
  usedOf,
} from "./events.ts";
import stylesheet from "./tools.css";
import { cardView, runningText, stepList } from "./view.ts";

/** How long the service accepts a click. */
const LIFETIME_MS = 600_000;

interface Question {
  readonly card: Card;
  /** When the card expires, by the clock of this device, in milliseconds. */
  readonly due: number;
  readonly view: ReturnType<typeof cardView>;
  state?: CardState;
}

interface Shown {
  readonly turn: Turn;
  /** Whether the answer has come since this page was opened. */
  isNew: boolean;
  readonly list: ReturnType<typeof stepList>;
  question?: Question | undefined;
}

export default function tools({ root, texts, apiUrl, speak, chat, tell }: Kit): Feature {
  adopt(root, stylesheet);
  const words = { ...ENGLISH, ...texts };
  const log = root?.querySelector<HTMLElement>(".log");
  /** By the element of the turn. */
  const shown = new Map<HTMLElement, Shown>();
  const announced = new Set<string>();
  let isScheduled = false;

  /** Announces a text after the announcements of the chat, which would replace it. */
  const say = (text: string): void => queueMicrotask(() => speak(text));

  const drawSteps = (node: HTMLElement, { turn, list }: Shown, { steps }: Used): void => {
    const named = steps.filter(isShown);
    const isOpen = turn.ending === "open";
    // The card of a click shows the state of its first step, so each step has its line.
    list.show(named, isOpen, !isOpen && named.length > 1 && !isClick(turn));
    if (!list.node.isConnected) node.querySelector(".answer")?.before(list.node);
    for (const step of isOpen ? named : []) {
      const key = `${turn.id} ${step.id}`;
      if (announced.has(key)) continue;
      announced.add(key);
      say(runningText(step));
    }
  };

  const questionOf = (card: Card): Question => {
    const left = card.expires * 1_000 - Date.now();
    // If the clock of this device is wrong, the service decides.
    const rest = left > 0 ? Math.min(left, LIFETIME_MS) : LIFETIME_MS;
    const view = cardView(words, card.text, (isApproved) => {
      chat()?.send(clickText(isApproved, card), card.id);
      draw();
    });
    const due = Date.now() + rest;
    // A timer may be a millisecond early.
    setTimeout(draw, rest + 9);
    return { card, due, view };
  };

  const drawCard = (node: HTMLElement, one: Shown, { card }: Used): void => {
    const { turn } = one;
    const answer = node.querySelector<HTMLElement>(".answer");
    if (card?.id !== one.question?.card.id || card?.state !== one.question?.card.state) {
      one.question?.view.node.remove();
      one.question = card && questionOf(card);
      if (one.question) answer?.after(one.question.view.node);
    }
    const { question } = one;
    // Where the model has said nothing, the answer is the text of the card, as Markdown.
    if (answer) answer.hidden = !!card && plain(turn.answer) === plain(card.text);
    if (!question) return;
    const turns = chat()?.turns() ?? [turn];
    const later = turns.slice(turns.indexOf(turn) + 1);
    // A later message declines a card only in time.
    const known =
      question.state === "expired" ? { ...question.card, state: "expired" } : question.card;
    const state = stateOf(known, later, question.due, Date.now());
    question.view.show(state, turn.ending !== "open" && !!chat());
    announce(question, state, one);
  };

  /** Announces a new state of a card, and offers a person where nobody can be sure. */
  const announce = (question: Question, state: CardState, { turn, isNew }: Shown): void => {
    const { card, view } = question;
    // Until the answer has ended, the card cannot be clicked.
    if (state === question.state || (state === "asked" && turn.ending === "open")) return;
    const isFirst = question.state === undefined;
    question.state = state;
    if (state === "unsure") tell("offered", view.row);
    if ((isFirst && !isNew) || state === "working") return;
    const { ariaLabel } = view.node;
    if (ariaLabel) say(state === "asked" ? `${ariaLabel}: ${card.text}` : ariaLabel);
  };

  /** Draws all turns with tools: a later turn may be the click on an earlier card. */
  const draw = (): void => {
    for (const [node, one] of shown) {
      if (!node.isConnected) {
        shown.delete(node);
        continue;
      }
      const used = usedOf(one.turn.events);
      node.classList.toggle("refused", used.isGone);
      atEnd(
        log,
        () => {
          drawSteps(node, one, used);
          drawCard(node, one, used);
        },
        AT_END_PX,
      );
    }
  };

  /** Draws once the chat has handled the present event. */
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    queueMicrotask(() => {
      isScheduled = false;
      draw();
    });
  };
  return {
    changed: (node, turn, isNew) => {
      if (turn.events?.length || isClick(turn) || shown.has(node)) {
        const one = shown.get(node) ?? { turn, isNew, list: stepList(words) };
        one.isNew ||= isNew;
        shown.set(node, one);
      }
      schedule();
    },
    asking: async (turn, ask) => (turn && isClick(turn) ? clicking(turn, apiUrl, ask, texts) : ask),
    answered: (row, { events }) => {
      const step = usedOf(events).steps.find(({ tool }) => tool === ASK_PERSON);
      if (step && step.state !== "output-error") tell("offered", row, step.summary);
    },
  };
}

/** A text without the backslashes that Markdown may have before its characters. */
function plain(text: string): string {
  return text.replaceAll("\\", "").trim();
}
