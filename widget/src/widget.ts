/** Puts the parts together: one conversation, one launcher, one panel, in one shadow tree. */

import { httpApi } from "./api.ts";
import { type Audience, Conversation, type Turn, type Waiting } from "./conversation.ts";
import { isBusy, type State } from "./machine.ts";
import type { Options } from "./options.ts";
import { areaOf, Store } from "./store.ts";
import { TEXTS, type Texts } from "./texts.ts";
import answerStyles from "./view/answer.css";
import { Composer } from "./view/composer.ts";
import { Consent } from "./view/consent.ts";
import { Launcher } from "./view/launcher.ts";
import { Panel } from "./view/panel.ts";
import { COVERS_PAGE, fillScreen } from "./view/screen.ts";
import { Suggestions } from "./view/suggestions.ts";
import { dress } from "./view/theme.ts";
import { Transcript } from "./view/transcript.ts";
import stylesheet from "./view/widget.css";

export const HOST_TAG = "kefu-chat";

export class Widget implements Audience {
  readonly #page: Window;
  readonly #texts: Texts;
  readonly #store: Store;
  readonly #conversation: Conversation;
  readonly #transcript: Transcript;
  readonly #suggestions: Suggestions;
  readonly #consent: Consent;
  readonly #composer: Composer;
  readonly #launcher: Launcher;
  readonly #panel: Panel;

  constructor(page: Window, options: Options) {
    this.#page = page;
    this.#texts = TEXTS[options.language];
    this.#store = new Store(options.apiUrl, () => areaOf(page, options.persist));
    const stored = this.#store.read();
    this.#conversation = new Conversation(
      {
        api: httpApi(options.apiUrl),
        ...options,
        isOnline: () => page.navigator.onLine,
        chance: Math.random,
        newId: uuid,
      },
      this,
      stored.turns,
    );
    // A button that goes away takes the focus with it.
    this.#transcript = new Transcript(this.#texts, options.greeting, () =>
      this.#consent.whenGiven(() => {
        this.#composer.focus();
        this.#conversation.retry();
      }),
    );
    this.#suggestions = new Suggestions(this.#texts, options.suggestions, (text) =>
      this.#consent.whenGiven(() => {
        this.#composer.focus();
        this.#conversation.send(text);
      }),
    );
    const { consent } = options;
    this.#consent = new Consent(this.#texts, consent, stored.agreed === consent, () => {
      this.#composer.focus();
      this.#store.write({ agreed: consent });
    });
    this.#composer = new Composer(
      this.#texts,
      (act) => this.#consent.whenGiven(act),
      (text) => this.#conversation.send(text),
      () => this.#conversation.stop(),
    );
    this.#launcher = new Launcher(this.#texts, () => this.#toggle());
    const parts = [this.#transcript, this.#suggestions, this.#consent, this.#composer];
    this.#panel = new Panel(
      this.#texts,
      options.title,
      parts.map(({ node }) => node),
      () => this.#close(),
    );
    fillScreen(page, this.#panel.node);
    for (const turn of stored.turns) this.#transcript.restored(turn);
    if (stored.turns.length > 0) this.#suggestions.remove();
    this.#mount(options);
    this.#listen();
    this.#showStatus();
    const isOpen = stored.turns.length > 0 ? stored.isOpen : options.open;
    if (isOpen && !page.matchMedia(COVERS_PAGE).matches) this.#open();
  }

  asked(turn: Turn): void {
    this.#transcript.asked(turn);
    this.#suggestions.remove();
    this.#save();
  }

  restarted(): void {
    this.#transcript.restarted();
  }

  told(_turn: Turn, text: string): void {
    this.#transcript.told(text);
    this.#showStatus();
  }

  moved(state: State, turn: Turn, waiting: Waiting | undefined): void {
    this.#composer.setBusy(isBusy(state));
    this.#showStatus();
    if (!isBusy(state)) {
      this.#transcript.ended(turn);
      this.#panel.speak(this.#endingOf(turn));
      this.#save();
    } else if (state === "connecting") {
      const notice = this.#noticeOf(waiting);
      this.#transcript.notice(notice);
      this.#panel.speak(notice ?? this.#texts.thinking);
    } else if (state === "awaiting-first-byte") {
      this.#transcript.notice(undefined);
    }
  }

  #noticeOf(waiting: Waiting | undefined): string | undefined {
    if (waiting === undefined) return undefined;
    return waiting === "offline" ? this.#texts.sendingWaits : this.#texts.troubles[waiting];
  }

  #endingOf(turn: Turn): string {
    const { ending } = turn;
    if (ending === "stopped") return this.#texts.stopped;
    if (ending === "whole" || ending === "open") return this.#texts.answered;
    return this.#texts.troubles[ending];
  }

  #showStatus(): void {
    const isOnline = this.#page.navigator.onLine;
    this.#panel.status(isOnline ? this.#activity() : this.#texts.offline, isOnline);
  }

  #activity(): string {
    if (!isBusy(this.#conversation.state)) return this.#texts.ready;
    return this.#conversation.isAnswering ? this.#texts.answering : this.#texts.thinking;
  }

  #open(): void {
    this.#show(true);
    this.#transcript.shown();
  }

  #close(): void {
    this.#show(false);
    this.#launcher.node.focus({ preventScroll: true });
  }

  #show(isOpen: boolean): void {
    this.#panel.node.hidden = !isOpen;
    this.#launcher.show(isOpen);
    if (this.#conversation.turns.length > 0) this.#store.write({ isOpen });
  }

  #save(): void {
    const isOpen = !this.#panel.node.hidden;
    this.#store.write({ isOpen, turns: this.#conversation.turns });
  }

  #toggle(): void {
    if (!this.#panel.node.hidden) {
      this.#close();
      return;
    }
    this.#open();
    this.#composer.focus();
  }

  #mount(options: Options): void {
    const host = document.createElement(HOST_TAG);
    host.lang = options.language;
    host.dataset.position = options.position;
    const shadow = host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(answerStyles + stylesheet);
    shadow.adoptedStyleSheets = [sheet];
    shadow.append(this.#panel.node, this.#launcher.node);
    this.#followTheme(host, options);
    // Beside the body: a transform or filter there would move what is fixed.
    document.documentElement.append(host);
  }

  #followTheme(host: HTMLElement, { theme, accent }: Options): void {
    const dark = this.#page.matchMedia("(prefers-color-scheme: dark)");
    const put = (): void => {
      const isDark = theme === "dark" || (theme === "auto" && dark.matches);
      dress(host, isDark ? "dark" : "light", accent);
    };
    dark.addEventListener("change", put);
    put();
  }

  #listen(): void {
    const page = this.#page;
    page.addEventListener("online", () => {
      this.#showStatus();
      this.#conversation.online();
    });
    page.addEventListener("offline", () => this.#showStatus());
    page.addEventListener("pagehide", () => this.#conversation.leave());
    for (const waking of ["pageshow", "focus"]) {
      page.addEventListener(waking, () => this.#conversation.wake());
    }
    document.addEventListener("visibilitychange", () => {
      this.#conversation.wake();
      // A phone may end a hidden page without another word.
      if (document.hidden && isBusy(this.#conversation.state)) this.#save();
    });
    document.addEventListener("resume", () => this.#conversation.wake());
  }
}

/** crypto.randomUUID is there on secure pages only; a page on http may embed the widget too. */
function uuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  // Not by Array.from: old libraries replace it with one that ignores the function.
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
