/** The user interface. Nothing is sent before the visitor has accepted the consent text. */

import type { UseAnswer } from "../../answer/answer.ts";
import type { ChatActs } from "../chat-acts.ts";
import type { Texts } from "../english.ts";
import type { State } from "../machine.ts";
import type { Options } from "../options.ts";
import { noticeOf, statusOf } from "../status.ts";
import type { Rating, Turn, Waiting } from "../turn.ts";
import { Composer } from "./composer.ts";
import { Consent } from "./consent.ts";
import { adopt, element, takeOut } from "./dom.ts";
import { Launcher } from "./launcher.ts";
import { COVERS_PAGE, Panel } from "./panel.ts";
import { suggestionBar } from "./suggestion-bar.ts";
import { Transcript } from "./transcript.ts";
import welcomeStyles from "./welcome.css";
import stylesheet from "./widget.css";

/** The visitor's actions on the conversation. */
export interface Asking {
  /** Sends a message. Returns false for a refused message. */
  send(text: string): boolean;
  stop(): void;
  retry(): void;
  again(): void;
}

export interface ViewActs {
  rate(turn: Turn, rating: Rating): void;
  /** The visitor has accepted the site's consent text. */
  agreed(): void;
  close(): void;
}

export interface Surface {
  readonly host: HTMLElement;
  /** The element that the loader drew. A chat inside the page has none there. */
  readonly launcher: HTMLButtonElement;
  readonly texts: Texts;
  readonly options: Options;
  readonly suggestions: readonly string[];
  readonly useAnswer: UseAnswer;
}

export class View {
  readonly transcript: Transcript;
  readonly composer: Composer;
  readonly launcher: Launcher;
  readonly panel: Panel;
  readonly #surface: Surface;
  readonly #consent: Consent;
  /** The bar of suggested questions, until the visitor has sent a message. */
  readonly #suggestions: HTMLElement;

  constructor(surface: Surface, asking: Asking, acts: ViewActs, hasAgreed: boolean) {
    const { texts, options } = surface;
    this.#surface = surface;
    this.#consent = new Consent(texts, options.consent ?? "", hasAgreed, () => {
      this.composer.focus();
      acts.agreed();
    });
    this.transcript = this.#newTranscript(asking, acts);
    this.#suggestions = suggestionBar(texts.suggestions, surface.suggestions, (text) =>
      this.#ask(() => asking.send(text)),
    );
    this.composer = new Composer(
      texts,
      (act) => this.#consent.whenGiven(act),
      (text) => asking.send(text),
      () => asking.stop(),
    );
    this.launcher = new Launcher(texts, surface.launcher);
    this.panel = this.#newPanel(acts);
  }

  get isOpen(): boolean {
    return !this.panel.node.hidden;
  }

  get coversPage(): boolean {
    return matchMedia(COVERS_PAGE).matches;
  }

  /** Attaches the view to the page. */
  mount(): void {
    const { host } = this.#surface;
    adopt(host.shadowRoot, stylesheet + welcomeStyles);
    host.shadowRoot?.prepend(this.panel.node);
  }

  /** Whether the focus is inside the panel, so that hiding the panel would lose it. */
  get hasFocus(): boolean {
    return this.panel.node.contains(this.#surface.host.shadowRoot?.activeElement ?? null);
  }

  show(isOpen: boolean): void {
    this.panel.node.hidden = !isOpen;
    this.launcher.show(isOpen);
  }

  /** Calls `act` at once, or when the visitor has given consent. */
  whenAgreed(act: () => void): void {
    this.#consent.whenGiven(act);
  }

  restored(turns: readonly Turn[]): void {
    this.transcript.restored(turns);
    takeOut(this.#suggestions);
  }

  asked(turn: Turn): void {
    this.transcript.asked(turn);
    takeOut(this.#suggestions);
  }

  /** Shows the state below the title. */
  status(conversation: { readonly state: State; readonly isAnswering: boolean }): void {
    const isOnline = navigator.onLine;
    this.panel.status(statusOf(this.#surface.texts, isOnline, conversation), isOnline);
  }

  /** Shows why the question has not been sent yet, if the visitor should know. */
  waiting(waiting: Waiting | undefined): void {
    const { texts } = this.#surface;
    const notice = noticeOf(texts, waiting);
    this.transcript.notice(notice);
    this.panel.speak(notice ?? texts.thinking);
  }

  /** Resets the view to an empty conversation. */
  clear(): void {
    this.transcript.cleared();
    this.transcript.node.after(this.#suggestions);
    this.composer.setBusy(false);
    this.launcher.show(this.isOpen);
    this.panel.speak("");
  }

  /** Asks for consent again, because the next user must decide for themselves. */
  withdrawConsent(): void {
    this.#consent.withdraw();
    this.composer.node.before(this.#consent.node);
  }

  /** Adds the tools of the header; the file of the tools is fetched with the first answer. */
  addMenu(acts: ChatActs, isKept: boolean): void {
    this.#surface.useAnswer(({ menu, keep }) => {
      this.panel.addMenu(() => menu(acts));
      if (isKept) keep(acts);
    });
  }

  #newTranscript(asking: Asking, acts: ViewActs): Transcript {
    const { texts, options, useAnswer } = this.#surface;
    const gated = {
      retry: () => this.#ask(() => asking.retry()),
      again: () => this.#ask(() => asking.again()),
      rate: (turn: Turn, rating: Rating, done: () => void) =>
        this.#consent.whenGiven(() => {
          acts.rate(turn, rating);
          done();
        }),
    };
    return new Transcript(texts, options.greeting, gated, useAnswer);
  }

  #newPanel(acts: ViewActs): Panel {
    const { texts, options, launcher } = this.#surface;
    const drawing = (launcher.firstChild as Element).cloneNode(true);
    const mark = element("span", { className: "mark" }, drawing);
    this.transcript.node.firstElementChild?.prepend(mark.cloneNode(true));
    const parts = [this.transcript.node, this.#suggestions, this.#consent.node, this.composer.node];
    return new Panel(texts, options, mark, parts, acts);
  }

  /** Removes a button without losing the focus to the page. */
  #ask(act: () => void): void {
    this.#consent.whenGiven(() => {
      this.composer.focus();
      act();
    });
  }
}
