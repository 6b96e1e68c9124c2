/**
 * The conversation as it grows. Text that arrives is put on the page every second frame, and
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
  readonly #dots = element("span", { className: "dots", ariaHidden: "true" });
  #last: Shown | undefined;
  #pending = "";
  #frame = 0;
  #isFollowing = true;
  #top = 0;

  constructor(texts: Texts, greeting: string, acts: TranscriptActs) {
    this.#texts = texts;
    this.#acts = acts;
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
    // What went wrong before stays to be read, but only the last question can be asked again.
    this.#remove(".retry, .again");
    const question = element(
      "div",
      { className: "question", part: "question", dir: "auto" },
      element("span", { className: "spoken" }, this.#texts.you),
      turn.question,
    );
    const answer = element("div", { className: "answer", part: "answer", dir: "auto" });
    const node = element("div", { className: "turn" }, question, answer);
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
    // Every second frame: nobody reads sixty times a second, and a phone's battery tells.
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = requestAnimationFrame(() => this.#flush());
    });
  }

  /** Something is being waited for that the visitor should know of. */
  notice(text: string | undefined): void {
    this.#settle();
    if (text !== undefined) {
      this.#last?.node.append(element("p", { className: "trouble" }, text));
    }
    this.follow();
  }

  /** The turn has ended; frames may never come in a hidden tab, so nothing waits for one. */
  ended(): void {
    this.#flush();
    this.#wait(false);
    this.#settle();
    if (this.#last) this.#close(this.#last);
    this.follow();
  }

  /** Says how the turn ended, and offers what can be done. */
  #close({ turn, node, prose }: Shown): void {
    prose?.end();
    const { ending } = turn;
    if (isFinished(ending)) {
      if (ending === "stopped")
        node.append(element("p", { className: "quiet" }, this.#texts.endings.stopped));
      if (turn.answer !== "") node.append(actions(this.#texts, turn, this.#acts));
    } else if (ending !== "open") {
      const line = element("p", { className: "trouble" }, this.#texts.endings[ending]);
      if (ending !== "invalid_request") {
        line.append(button({ className: "retry" }, () => this.#acts.retry(), this.#texts.retry));
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
    this.follow();
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
    if (text === "" || !last) return;
    last.prose ??= new Prose(last.answer, this.#texts);
    last.prose.feed(text);
    this.follow();
  }

  /** To the end, for those who read along; what was hidden until now could not be scrolled. */
  follow(): void {
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
