/**
 * The conversation as it grows. Text that arrives is put on the page at most once a frame, and
 * only what it may change is looked at: the work for a chunk does not depend on what is there
 * already.
 */

import type { Turn } from "../conversation.ts";
import { isFinished } from "../conversation.ts";
import type { Texts } from "../texts.ts";
import { type Acts, actions } from "./actions.ts";
import { button, element } from "./dom.ts";
import { Prose } from "./markdown.ts";

/** Nearer to the end than this counts as reading along. */
const AT_END_PX = 48;

export interface TranscriptActs extends Acts {
  retry(): void;
}

interface Shown {
  readonly turn: Turn;
  readonly node: HTMLElement;
  readonly answer: HTMLElement;
  prose: Prose | undefined;
}

export class Transcript {
  readonly node: HTMLDivElement;
  readonly #texts: Texts;
  readonly #acts: TranscriptActs;
  readonly #greeting: HTMLElement;
  readonly #dots = element("span", { class: "dots", "aria-hidden": "true" });
  #last: Shown | undefined;
  #pending = "";
  #frame = 0;
  #isFollowing = true;
  #top = 0;

  constructor(texts: Texts, greeting: string, acts: TranscriptActs) {
    this.#texts = texts;
    this.#acts = acts;
    this.#dots.append(element("i"), element("i"), element("i"));
    this.#greeting = element("p", { class: "answer", dir: "auto" }, greeting);
    this.node = element(
      "div",
      {
        class: "log",
        part: "messages",
        role: "log",
        "aria-live": "off",
        "aria-label": texts.messages,
        tabindex: "0",
      },
      this.#greeting,
    );
    this.node.addEventListener("scroll", () => this.#scrolled(), { passive: true });
  }

  asked(turn: Turn): void {
    // What went wrong before stays to be read, but only the last question can be asked again.
    this.#remove(".retry, .again");
    const question = element(
      "div",
      { class: "question", part: "question", dir: "auto" },
      element("span", { class: "spoken" }, this.#texts.you),
      turn.question,
    );
    const answer = element("div", { class: "answer", part: "answer", dir: "auto" });
    const node = element("div", { class: "turn" }, question, answer);
    this.#last = { turn, node, answer, prose: undefined };
    this.node.append(node);
    this.#isFollowing = true;
    this.#wait(true);
  }

  /** The turns of an earlier page, as they ended there. */
  restored(turns: readonly Turn[]): void {
    for (const turn of turns) {
      this.asked(turn);
      this.#pending = turn.answer;
      this.ended();
    }
  }

  /** Nothing was said yet: the greeting alone is left. */
  cleared(): void {
    this.#drop();
    this.#last = undefined;
    this.node.replaceChildren(this.#greeting);
    this.#isFollowing = true;
  }

  /** What is hidden cannot be scrolled; now it is shown. */
  shown(): void {
    this.#follow();
  }

  /** Another answer is waited for, below the one that is there. */
  restarted(): void {
    this.#settle();
    this.#isFollowing = true;
    this.#wait(true);
  }

  /** `isFirst`: the answer begins here, in place of one that was shown. */
  told(text: string, isFirst: boolean): void {
    const last = this.#last;
    if (isFirst && last) {
      last.answer.replaceChildren();
      last.prose = undefined;
      this.#pending = "";
    }
    this.#pending += text;
    if (isFirst) this.#wait(false);
    this.#frame ||= requestAnimationFrame(() => this.#flush());
  }

  /** Something is being waited for that the visitor should know of. */
  notice(text: string | undefined): void {
    this.#settle();
    if (text !== undefined) {
      this.#last?.node.append(element("p", { class: "trouble" }, text));
    }
    this.#follow();
  }

  /** The turn has ended; frames may never come in a hidden tab, so nothing waits for one. */
  ended(): void {
    this.#flush();
    this.#wait(false);
    this.#settle();
    if (this.#last) this.#close(this.#last);
    this.#follow();
  }

  /** Says how the turn ended, and offers what can be done. */
  #close({ turn, node, prose }: Shown): void {
    prose?.end();
    const { ending } = turn;
    if (isFinished(ending)) {
      if (ending === "stopped") node.append(element("p", { class: "quiet" }, this.#texts.stopped));
      if (turn.answer !== "") node.append(actions(this.#texts, turn, this.#acts));
    } else if (ending !== "open") {
      const line = element("p", { class: "trouble" }, this.#texts.troubles[ending]);
      if (ending !== "invalid_request") {
        line.append(button({ class: "retry" }, () => this.#acts.retry(), this.#texts.retry));
      }
      node.append(line);
    }
  }

  #settle(): void {
    this.#remove(".trouble, .quiet, .actions");
  }

  /** Of the last turn. */
  #remove(selector: string): void {
    for (const gone of this.#last?.node.querySelectorAll(selector) ?? []) gone.remove();
  }

  #wait(isWaiting: boolean): void {
    const last = this.#last;
    if (isWaiting) last?.answer.append(this.#dots);
    else this.#dots.remove();
    const isEmpty = this.#pending === "" && last?.prose === undefined;
    last?.answer.classList.toggle("empty", !isWaiting && isEmpty);
    this.#follow();
  }

  #drop(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#pending = "";
  }

  #flush(): void {
    const text = this.#pending;
    this.#drop();
    const last = this.#last;
    if (text === "" || last === undefined) return;
    last.prose ??= new Prose(last.answer, this.#texts);
    last.prose.feed(text);
    this.#follow();
  }

  #follow(): void {
    if (!this.#isFollowing) return;
    this.node.scrollTop = this.node.scrollHeight;
    this.#top = this.node.scrollTop;
  }

  /** Any move upwards lets go, however small: else a slow wheel would fight the growing text. */
  #scrolled(): void {
    const { scrollHeight, scrollTop, clientHeight } = this.node;
    const gap = scrollHeight - scrollTop - clientHeight;
    if (scrollTop < this.#top) this.#isFollowing = gap <= 2;
    else if (gap < AT_END_PX) this.#isFollowing = true;
    this.#top = scrollTop;
  }
}
