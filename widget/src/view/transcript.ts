/**
 * The conversation as it grows. Text that arrives is put on the page at most once a frame, and
 * only what it may change is looked at: the work for a chunk does not depend on what is there
 * already.
 */

import type { Turn } from "../conversation.ts";
import type { Texts } from "../texts.ts";
import { element } from "./dom.ts";
import { Prose } from "./markdown.ts";

/** Nearer to the end than this counts as reading along. */
const AT_END_PX = 48;

interface Shown {
  readonly question: HTMLElement;
  readonly answer: HTMLElement;
  prose: Prose | undefined;
}

export class Transcript {
  readonly node: HTMLDivElement;
  readonly #texts: Texts;
  readonly #retry: () => void;
  readonly #dots = element("span", { class: "dots", "aria-hidden": "true" });
  #shown: Shown | undefined;
  #trouble: HTMLElement | undefined;
  #pending = "";
  #frame = 0;
  #isFollowing = true;
  #top = 0;

  constructor(texts: Texts, greeting: string, retry: () => void) {
    this.#texts = texts;
    this.#retry = retry;
    this.#dots.append(element("i"), element("i"), element("i"));
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
      element("p", { class: "answer", dir: "auto" }, greeting),
    );
    this.node.addEventListener("scroll", () => this.#scrolled(), { passive: true });
  }

  asked(turn: Turn): void {
    // What went wrong before stays to be read, but only the last question can be asked again.
    this.#trouble?.querySelector("button")?.remove();
    this.#trouble = undefined;
    const question = element(
      "div",
      { class: "question", part: "question", dir: "auto" },
      element("span", { class: "spoken" }, this.#texts.you),
      turn.question,
    );
    const answer = element("div", { class: "answer", part: "answer", dir: "auto" });
    this.node.append(question, answer);
    this.#shown = { question, answer, prose: undefined };
    this.#isFollowing = true;
    this.#wait(true);
  }

  /** A turn of an earlier page, as it ended there. */
  restored(turn: Turn): void {
    this.asked(turn);
    this.told(turn.answer);
    this.ended(turn);
  }

  /** Nothing was said yet: the greeting alone is left. */
  cleared(): void {
    this.#drop();
    this.#shown = undefined;
    this.#trouble = undefined;
    this.node.replaceChildren(...[...this.node.children].slice(0, 1));
    this.#isFollowing = true;
  }

  /** What is hidden cannot be scrolled; now it is shown. */
  shown(): void {
    this.#follow();
  }

  restarted(): void {
    this.#drop();
    this.#settle();
    this.#shown?.answer.replaceChildren();
    if (this.#shown) this.#shown.prose = undefined;
    this.#wait(true);
  }

  told(text: string): void {
    const isFirst = this.#isEmpty();
    this.#pending += text;
    if (isFirst) this.#wait(false);
    this.#frame ||= requestAnimationFrame(() => this.#flush());
  }

  /** Something is being waited for that the visitor should know of. */
  notice(text: string | undefined): void {
    this.#settle();
    if (text !== undefined) this.#say(element("p", { class: "trouble" }, text));
    this.#follow();
  }

  /** The turn has ended; frames may never come in a hidden tab, so nothing waits for one. */
  ended(turn: Turn): void {
    this.#flush();
    this.#shown?.prose?.end();
    this.#wait(false);
    this.#settle();
    if (turn.ending === "stopped") {
      this.#say(element("p", { class: "quiet" }, this.#texts.stopped));
    } else if (turn.ending !== "whole" && turn.ending !== "open") {
      const line = element("p", { class: "trouble" }, this.#texts.troubles[turn.ending]);
      if (turn.ending !== "invalid_request") line.append(this.#retryButton());
      this.#say(line);
    }
    this.#follow();
  }

  #retryButton(): HTMLButtonElement {
    const button = element("button", { type: "button", class: "retry" }, this.#texts.retry);
    button.addEventListener("click", () => this.#retry());
    return button;
  }

  #say(line: HTMLElement): void {
    this.#trouble = line;
    this.node.append(line);
  }

  #settle(): void {
    this.#trouble?.remove();
    this.#trouble = undefined;
  }

  #wait(isWaiting: boolean): void {
    if (isWaiting) this.#shown?.answer.append(this.#dots);
    else this.#dots.remove();
    this.#shown?.answer.classList.toggle("empty", !isWaiting && this.#isEmpty());
    this.#follow();
  }

  #isEmpty(): boolean {
    return this.#pending === "" && this.#shown?.prose === undefined;
  }

  #drop(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#pending = "";
  }

  #flush(): void {
    const text = this.#pending;
    this.#drop();
    const shown = this.#shown;
    if (text === "" || shown === undefined) return;
    shown.prose ??= new Prose(shown.answer, this.#texts);
    shown.prose.feed(text);
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
