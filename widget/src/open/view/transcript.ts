/**
 * The list of turns. Arriving text is rendered 20 times a second, and only the nodes that it may
 * change are visited: the work for a chunk does not grow with the conversation.
 */

import type { ActionActs } from "../../answer/actions.ts";
import type { UseAnswer } from "../../answer/answer.ts";
import type { Texts } from "../english.ts";
import { endingText } from "../status.ts";
import { isFinished, type Turn } from "../turn.ts";
import { button, element, takeOut } from "./dom.ts";
import { type Writer, writerOf } from "./writer.ts";

/** Maximum distance from the end, in pixels, at which the list scrolls with the growing text. */
const AT_END_PX = 48;
/** Milliseconds from arriving text to its rendering: short for a reader, and saving battery. */
const FLUSH_MS = 50;

export interface TranscriptActs extends ActionActs {
  retry(): void;
}

interface Shown {
  readonly turn: Turn;
  readonly node: HTMLElement;
  answer: HTMLElement;
  writer: Writer | undefined;
}

export class Transcript {
  readonly node: HTMLDivElement;
  readonly #texts: Texts;
  readonly #acts: TranscriptActs;
  readonly #useAnswer: UseAnswer;
  readonly #greeting: HTMLElement;
  readonly #dots = element("span", { className: "dots", ariaHidden: "true" });
  #last: Shown | undefined;
  #pending = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isFollowing = true;
  #top = 0;

  constructor(texts: Texts, greeting: string, acts: TranscriptActs, useAnswer: UseAnswer) {
    this.#texts = texts;
    this.#acts = acts;
    this.#useAnswer = useAnswer;
    this.#dots.append(element("i"), element("i"), element("i"));
    this.#greeting = element("p", { className: "answer", dir: "auto" }, greeting);
    this.node = element(
      "div",
      {
        className: "log",
        part: "messages",
        role: "log",
        ariaLive: "off",
        ariaLabel: texts.messages,
        tabIndex: 0,
        onscroll: () => this.#scrolled(),
      },
      this.#greeting,
    );
  }

  asked(turn: Turn): void {
    // Earlier errors stay visible, but only the last question can be retried.
    this.#remove(".retry, .again");
    const question = element(
      "div",
      { className: "question", part: "question", dir: "auto", hidden: !turn.question },
      // In a bdi, because the question's own letters decide its direction.
      element("bdi", { className: "spoken" }, this.#texts.you),
      turn.question,
    );
    const answer = answerElement(turn);
    const node = element("div", { className: "turn" }, question, answer);
    node.dataset.at = `${turn.at}`;
    this.#last = { turn, node, answer, writer: undefined };
    this.node.append(node);
    this.#isFollowing = true;
    this.#wait(true);
    this.changed();
  }

  /** Shows the turns of an earlier page, with their endings. */
  restored(turns: readonly Turn[]): void {
    for (const turn of turns) {
      this.asked(turn);
      this.#pending = turn.answer;
      this.ended();
    }
  }

  /** Shows a finished turn above the last `later` turns. */
  added(turn: Turn, later: number): void {
    const last = this.#last;
    const below = [...this.node.querySelectorAll(".turn")].at(-later);
    if (later) this.#last = undefined;
    this.restored([turn]);
    if (!later || !this.#last) return;
    below?.before(this.#last.node);
    this.#last = last;
  }

  /** Removes all turns; the greeting stays. */
  cleared(): void {
    this.#drop();
    this.#last = undefined;
    this.node.replaceChildren(this.#greeting);
    this.#isFollowing = true;
  }

  /** Removes all turns but the last. */
  forgetEarlier(): void {
    if (this.#last) this.node.replaceChildren(this.#greeting, this.#last.node);
  }

  /** Shows that a new answer is awaited, below the old answer. */
  restarted(): void {
    this.#settle();
    this.#isFollowing = true;
    this.#wait(true);
    this.changed();
  }

  /** Adds text. `isFirst`: the text begins an answer and replaces the shown answer. */
  told(text: string, isFirst: boolean): void {
    const last = this.#last;
    if (isFirst && last) {
      const answer = answerElement(last.turn);
      last.answer.replaceWith(answer);
      Object.assign(last, { answer, writer: undefined });
      this.#pending = "";
    }
    this.#pending += text;
    if (isFirst) {
      this.#flush();
      this.#useAnswer(({ calm }) => calm(this.#dots));
      return;
    }
    this.#timer ||= setTimeout(() => this.#flush(), FLUSH_MS);
  }

  /** Tells the features of the last answer's state. */
  changed(): void {
    const last = this.#last;
    if (last) this.#useAnswer(({ changed }) => changed(last.node, last.turn));
  }

  /** Shows the reason for a delay. */
  notice(text: string | undefined): void {
    this.#settle();
    if (text !== undefined) {
      this.#last?.node.append(element("p", { className: "trouble" }, text));
    }
    this.follow();
  }

  /** Ends the turn at once: the timers of a hidden tab are late. */
  ended(): void {
    this.#flush();
    this.#wait(false);
    this.#settle();
    if (this.#last) this.#close(this.#last);
    this.changed();
    this.follow();
  }

  /** Shows how the turn ended, and the buttons for it. */
  #close(shown: Shown): void {
    const { turn, node, writer } = shown;
    writer?.end();
    const { ending } = turn;
    if (isFinished(ending)) {
      if (ending === "stopped")
        node.append(element("p", { className: "quiet" }, this.#texts.endings.stopped));
      this.#offer(shown);
    } else if (ending !== "open") {
      const line = element("p", { className: "trouble" }, endingText(this.#texts, ending));
      if (ending !== "invalid_request") {
        line.append(button({ className: "retry" }, () => this.#acts.retry(), this.#texts.retry));
      }
      node.append(line);
    }
  }

  /** Adds the buttons of an answer when they are loaded; the next turn may have started by then. */
  #offer({ turn, node }: Shown): void {
    this.#useAnswer(({ actions }) => {
      if (!isFinished(turn.ending) || node.querySelector(".actions")) return;
      node.append(actions(turn, this.#acts));
      if (node !== this.#last?.node) node.querySelector(".again")?.remove();
      this.follow();
    });
  }

  #settle(): void {
    this.#remove(".trouble, .quiet, .actions");
  }

  /** The element of the last turn. */
  #remove(selector: string): void {
    for (const gone of this.#last?.node.querySelectorAll(selector) ?? []) gone.remove();
  }

  #wait(isWaiting: boolean): void {
    if (isWaiting) this.#last?.node.append(this.#dots);
    else takeOut(this.#dots);
    this.follow();
  }

  #drop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pending = "";
  }

  #flush(): void {
    const text = this.#pending;
    this.#drop();
    const last = this.#last;
    if (text === "" || !last) return;
    last.writer ??= writerOf(last.answer, last.turn, this.#useAnswer, () => this.follow());
    last.writer.feed(text);
    this.follow();
  }

  /**
   * Scrolls to the end, unless the visitor has scrolled up. A hidden panel cannot be scrolled. In a microtask,
   * because it computes the layout: a question is sent before that, and several changes need it once.
   */
  follow(): void {
    if (!this.#isFollowing) return;
    queueMicrotask(() => {
      this.node.scrollTop = this.node.scrollHeight;
      this.#top = this.node.scrollTop;
    });
  }

  /**
   * Any scrolling upwards stops the automatic scrolling, which would undo a slow scroll. When the
   * content shrinks, the browser scrolls up as well, but the list stays at its end.
   */
  #scrolled(): void {
    const { scrollHeight, scrollTop, clientHeight } = this.node;
    const gap = scrollHeight - scrollTop - clientHeight;
    if (scrollTop < this.#top) this.#isFollowing &&= gap <= 2;
    else if (gap < AT_END_PX) this.#isFollowing = true;
    this.#top = scrollTop;
  }
}

/** An answer of the model is marked for programs as generated; a person's line is not. */
function answerElement({ person }: Turn): HTMLElement {
  const node = element("div", { className: "answer", part: "answer", dir: "auto" });
  if (!person) node.dataset.generated = "ai";
  return node;
}
