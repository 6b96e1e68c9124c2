/** Puts the parts together: one conversation, one launcher, one panel, in one shadow tree. */

import type { Api } from "./api.ts";
import {
  type Audience,
  Conversation,
  isFinished,
  type Rating,
  type Turn,
  type Waiting,
} from "./conversation.ts";
import type { EventDetails, EventName } from "./handle.ts";
import { isBusy, type State } from "./machine.ts";
import type { Options } from "./options.ts";
import type { Store } from "./store.ts";
import type { Texts } from "./texts.ts";
import answerStyles from "./view/answer.css";
import { Composer } from "./view/composer.ts";
import { Consent } from "./view/consent.ts";
import { Launcher } from "./view/launcher.ts";
import { Panel } from "./view/panel.ts";
import { COVERS_PAGE, fillScreen } from "./view/screen.ts";
import { suggestionBar } from "./view/suggestions.ts";
import { Transcript } from "./view/transcript.ts";
import stylesheet from "./view/widget.css";

export class Widget implements Audience {
  readonly #page: Window;
  readonly #texts: Texts;
  readonly #api: Api;
  readonly #store: Store;
  readonly #conversation: Conversation;
  readonly #transcript: Transcript;
  readonly #suggestions: HTMLElement;
  readonly #consent: Consent;
  readonly #composer: Composer;
  readonly #launcher: Launcher;
  readonly #panel: Panel;
  readonly #host: HTMLElement;
  /** Ends what the widget listens to outside its own tree. */
  readonly #gone = new AbortController();

  constructor(
    page: Window,
    host: HTMLElement,
    launcher: HTMLButtonElement,
    texts: Texts,
    options: Options,
    store: Store,
    api: Api,
  ) {
    this.#page = page;
    this.#host = host;
    this.#texts = texts;
    this.#store = store;
    const stored = store.read();
    this.#api = api;
    this.#conversation = new Conversation(
      {
        api,
        ...options,
        isOnline: () => page.navigator.onLine,
        chance: Math.random,
        newId: uuid,
      },
      this,
      stored.turns,
    );
    // A button that goes away takes the focus with it.
    const ask = (act: () => void): void =>
      this.#consent.whenGiven(() => {
        this.#composer.focus();
        act();
      });
    this.#transcript = new Transcript(this.#texts, options.greeting, {
      retry: () => ask(() => this.#conversation.retry()),
      again: () => ask(() => this.#conversation.again()),
      rate: (turn, rating, done) =>
        this.#consent.whenGiven(() => {
          this.#rate(turn, rating);
          done();
        }),
    });
    this.#suggestions = suggestionBar(this.#texts, options.suggestions, (text) =>
      ask(() => this.#conversation.send(text)),
    );
    const { consent } = options;
    this.#consent = new Consent(this.#texts, consent ?? "", stored.agreed === consent, () => {
      this.#composer.focus();
      this.#store.write({ agreed: consent });
    });
    this.#composer = new Composer(
      this.#texts,
      (act) => this.#consent.whenGiven(act),
      (text) => this.#conversation.send(text),
      () => this.#conversation.stop(),
    );
    const mark = (launcher.firstChild as Element).cloneNode(true);
    this.#launcher = new Launcher(this.#texts, launcher);
    this.#panel = new Panel(
      this.#texts,
      options.title,
      mark,
      [this.#transcript.node, this.#suggestions, this.#consent.node, this.#composer.node],
      options.privacyUrl,
      () => {
        this.close();
        this.#launcher.node.focus({ preventScroll: true });
      },
      () => {
        this.reset();
        this.#composer.focus();
      },
    );
    fillScreen(page, this.#panel.node, this.#gone.signal);
    if (stored.turns.length > 0) {
      this.#transcript.restored(stored.turns);
      this.#suggestions.remove();
    }
    this.#mount();
    this.#listen();
    this.#showStatus();
    const isOpen = stored.turns.length > 0 ? stored.isOpen : options.open;
    if (isOpen && !page.matchMedia(COVERS_PAGE).matches) this.#reveal();
  }

  get isOpen(): boolean {
    return !this.#panel.node.hidden;
  }

  /** Opens, and moves the focus to where the visitor writes. */
  open(): void {
    this.#reveal();
    this.#composer.focus();
  }

  close(): void {
    if (!this.isOpen) return;
    // Only what is inside the panel loses the focus with it.
    const hadFocus = this.#panel.node.contains(this.#host.shadowRoot?.activeElement ?? null);
    this.#show(false);
    if (hadFocus) this.#launcher.node.focus({ preventScroll: true });
  }

  toggle(): void {
    if (this.isOpen) this.close();
    else this.open();
  }

  /** Opens and asks, once the visitor has agreed to what has to be agreed to. */
  send(text: string): void {
    this.open();
    this.#consent.whenGiven(() => this.#conversation.send(text));
  }

  /** A new conversation; an answer under way is stopped, and what was kept is forgotten. */
  reset(): void {
    this.#conversation.clear();
    this.#transcript.cleared();
    this.#transcript.node.after(this.#suggestions);
    this.#showStatus();
    this.#store.write({ turns: [] });
  }

  /** Takes it off the page, with every listener and timer; the kept conversation stays. */
  destroy(): void {
    this.#conversation.leave();
    this.#gone.abort();
  }

  asked(turn: Turn): void {
    this.#transcript.asked(turn);
    this.#suggestions.remove();
    this.#save();
    this.#announce("message", { id: turn.id, role: "user", text: turn.question });
  }

  restarted(): void {
    this.#transcript.restarted();
  }

  told(turn: Turn, text: string, isFirst: boolean): void {
    this.#transcript.told(text, isFirst);
    if (isFirst) this.#showStatus();
    this.#announce("delta", { id: turn.id, text });
  }

  moved(state: State, turn: Turn, waiting: Waiting | undefined): void {
    this.#composer.setBusy(isBusy(state));
    this.#showStatus();
    if (!isBusy(state)) {
      this.#transcript.ended();
      if (!this.isOpen && isFinished(turn.ending)) this.#launcher.unread();
      this.#panel.speak(turn.ending === "open" ? "" : this.#texts.endings[turn.ending]);
      this.#save();
      this.#announceEnd(turn);
    } else if (state === "connecting") {
      const notice = this.#noticeOf(waiting);
      this.#transcript.notice(notice);
      this.#panel.speak(notice ?? this.#texts.thinking);
    } else if (state === "awaiting-first-byte") {
      this.#transcript.notice(undefined);
    }
  }

  #rate(turn: Turn, rating: Rating): void {
    turn.rating = rating;
    this.#api.rate(turn.id, rating);
    this.#save();
    this.#announce("feedback", { id: turn.id, rating });
  }

  #announceEnd({ id, answer, ending }: Turn): void {
    if (isFinished(ending)) {
      this.#announce("message", { id, role: "assistant", text: answer });
    } else if (ending !== "open") {
      this.#announce("error", { id, code: ending });
    }
  }

  /** A handler that throws is reported by the browser, and harms nothing here. */
  #announce<Name extends EventName>(name: Name, detail: EventDetails[Name]): void {
    const type = `chat-widget:${name}`;
    this.#host.dispatchEvent(new CustomEvent(type, { detail, bubbles: true }));
  }

  #noticeOf(waiting: Waiting | undefined): string | undefined {
    if (waiting === undefined) return undefined;
    return waiting === "offline" ? this.#texts.sendingWaits : this.#texts.endings[waiting];
  }

  #showStatus(): void {
    const isOnline = this.#page.navigator.onLine;
    this.#panel.status(isOnline ? this.#activity() : this.#texts.offline, isOnline);
  }

  #activity(): string {
    if (!isBusy(this.#conversation.state)) return this.#texts.ready;
    return this.#conversation.isAnswering ? this.#texts.answering : this.#texts.thinking;
  }

  #reveal(): void {
    if (this.isOpen) return;
    this.#show(true);
    this.#transcript.follow();
  }

  #show(isOpen: boolean): void {
    this.#panel.node.hidden = !isOpen;
    this.#launcher.show(isOpen);
    if (this.#conversation.turns.length > 0) this.#store.write({ isOpen });
    this.#announce(isOpen ? "open" : "close", {});
  }

  #save(): void {
    this.#store.write({ isOpen: this.isOpen, turns: this.#conversation.turns });
  }

  #mount(): void {
    const shadow = this.#host.shadowRoot;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(answerStyles + stylesheet);
    shadow?.adoptedStyleSheets.push(sheet);
    shadow?.prepend(this.#panel.node);
  }

  #listen(): void {
    const page = this.#page;
    const { signal } = this.#gone;
    const conversation = this.#conversation;
    const on = (target: EventTarget, type: string, act: () => void): void =>
      target.addEventListener(type, act, { signal });
    on(page, "online", () => {
      this.#showStatus();
      conversation.online();
    });
    on(page, "offline", () => this.#showStatus());
    on(page, "pagehide", () => conversation.leave());
    for (const waking of ["pageshow", "focus"]) on(page, waking, () => conversation.wake());
    on(document, "visibilitychange", () => {
      conversation.wake();
      // A phone may end a hidden page without another word.
      if (document.hidden && isBusy(conversation.state)) this.#save();
    });
    on(document, "resume", () => conversation.wake());
  }
}

/** crypto.randomUUID is there on secure pages only; a page on http may embed the widget too. */
function uuid(): string {
  const url = URL.createObjectURL(new Blob());
  URL.revokeObjectURL(url);
  // Its end is one: as random, and the same everywhere.
  return url.slice(-36);
}
