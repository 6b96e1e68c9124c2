/** Connects the parts: the conversation, the view, storage, and the events of the page. */

import type { Acts } from "../handle.ts";
import { type AnswerSource, type Audience, Conversation } from "./conversation.ts";
import { announce, announceEnd } from "./events.ts";
import { isBusy, type State } from "./machine.ts";
import type { Owner, Reason } from "./owner.ts";
import { listen } from "./page-events.ts";
import { endingText } from "./status.ts";
import type { Store, Stored } from "./store.ts";
import type { KeptTransport } from "./transport/kept.ts";
import type { KeptChat } from "./transport/transport.ts";
import { isFinished, type Rating, type Turn, type Waiting } from "./turn.ts";
import { uuid } from "./uuid.ts";
import { type Surface, View, type ViewActs } from "./view/view.ts";

export interface Parts extends Surface {
  readonly store: Store;
  readonly owner: Owner;
  readonly transport: KeptTransport;
  /** Resolves when the file for answers is loaded, or cannot be. */
  readonly loadAnswer: () => Promise<unknown>;
}

export class Widget implements Acts, Audience {
  readonly #parts: Parts;
  readonly #conversation: Conversation;
  readonly #view: View;
  #chat: KeptChat | undefined;
  /** The answers and lines that ended while the panel was closed. */
  #unread = 0;
  /** Aborted to remove the listeners outside the widget's own elements. */
  readonly #gone = new AbortController();

  constructor(parts: Parts) {
    const { options, store, owner, transport } = parts;
    this.#parts = parts;
    // The page may have changed its user since the loader ran.
    owner.check();
    const stored = store.read();
    const around = {
      ...options,
      transport,
      loadAnswer: parts.loadAnswer,
      isOnline: () => navigator.onLine,
      chance: Math.random,
      newId: uuid,
    };
    this.#conversation = new Conversation(around, this);
    this.#view = new View(
      parts,
      this.#conversation,
      this.#acts(),
      stored.agreed === options.consent,
    );
    owner.onCleared((reason) => this.#forget(reason));
    owner.watch(this.#view.panel.node, this.#gone.signal);
    this.#listen();
    this.#view.mount();
    this.#restore(stored);
    parts.useAnswer(({ drawn }) => drawn(this.#view.panel.node, this.#gone.signal));
  }

  /** Opens the panel and moves the focus to the text field. */
  open(): void {
    this.#parts.owner.check();
    this.#reveal();
    this.#view.composer.focus();
  }

  close(): void {
    if (!this.#view.isOpen) return;
    const { hasFocus, launcher } = this.#view;
    this.#show(false);
    if (hasFocus) launcher.focus();
  }

  toggle(): void {
    if (this.#view.isOpen) this.close();
    else this.open();
  }

  /** Opens the panel and sends the question, after the visitor's consent. */
  send(text: string): void {
    this.open();
    this.#view.whenAgreed(() => this.#conversation.send(text));
  }

  /** Starts a new conversation: stops the answer in progress and clears the storage. */
  reset(): void {
    this.#conversation.stop();
    this.#clear();
    this.#chat?.forget();
    this.#parts.store.write({ turns: [] });
  }

  /** Removes the widget with its listeners and timers; the stored conversation is kept. */
  destroy(): void {
    this.#conversation.leave();
    this.#gone.abort();
  }

  speak(text: string): void {
    this.#view.panel.speak(text);
  }

  /** Stores the session of the chat; undefined: the service stores it no longer. */
  kept(chat: KeptChat | undefined): void {
    this.#chat = chat;
    this.#view.panel.showKept(!!chat);
  }

  /** The service has lost the chat. A question in progress starts a new chat. */
  lost(): void {
    if (!isBusy(this.#conversation.state)) {
      this.reset();
      return;
    }
    this.#conversation.forgetEarlier();
    this.#view.transcript.forgetEarlier();
    this.#save();
  }

  asked(turn: Turn): void {
    this.#view.asked(turn);
    this.#save();
    announce(this.#parts.host, "message", { id: turn.id, role: "user", text: turn.question });
  }

  restarted(): void {
    this.#view.transcript.restarted();
  }

  told(turn: Turn, text: string, isFirst: boolean): void {
    this.#view.transcript.told(text, isFirst);
    if (isFirst) {
      this.#view.status(this.#conversation);
      this.#addMenu();
    }
    announce(this.#parts.host, "delta", { id: turn.id, text });
  }

  changed(): void {
    this.#view.transcript.changed();
  }

  moved(state: State, turn: Turn, waiting: Waiting | undefined): void {
    // A finished answer is stored, but only for the user who asked.
    if (!this.#parts.owner.check()) return;
    this.#view.composer.setBusy(isBusy(state));
    this.#view.status(this.#conversation);
    if (!isBusy(state)) {
      this.#ended(turn);
    } else if (state === "connecting") {
      const { useAnswer } = this.#parts;
      this.#view.waiting(waiting);
      const due = performance.now() + this.#conversation.waitMs;
      if (waiting === "rate_limit_exceeded") useAnswer((answer) => answer.countDown(due));
    } else if (state === "awaiting-first-byte") {
      this.#view.transcript.notice(undefined);
    }
  }

  #ended(turn: Turn): void {
    const { texts, host, useAnswer } = this.#parts;
    this.#view.transcript.ended();
    this.#addMenu();
    if (!this.#view.isOpen && isFinished(turn.ending)) this.#setUnread(this.#unread + 1);
    const { ending } = turn;
    this.speak(ending === "open" ? "" : endingText(texts, ending));
    if (ending !== "open" && !isFinished(ending)) useAnswer(({ failed }) => failed(turn));
    this.#save();
    announceEnd(host, turn);
  }

  /** The visitor's actions in the panel. */
  #acts(): ViewActs {
    const { store, options } = this.#parts;
    return {
      rate: (turn, rating) => this.#rate(turn, rating),
      agreed: () => store.write({ agreed: options.consent }),
      close: () => {
        this.close();
        this.#view.launcher.focus();
      },
    };
  }

  #restore({ turns, isOpen, unread }: Stored): void {
    this.#setUnread(unread);
    this.kept(this.#parts.transport.restore());
    this.#conversation.restore(turns);
    const hasTurns = turns.length > 0;
    if (hasTurns) {
      this.#view.restored(turns);
      this.#addMenu();
    }
    this.#view.status(this.#conversation);
    const shallOpen = hasTurns ? isOpen : this.#parts.options.open;
    if (!this.#parts.launcher.isConnected || (shallOpen && !this.#view.coversPage)) this.#reveal();
  }

  #listen(): void {
    const { owner, store } = this.#parts;
    const conversation = this.#conversation;
    const events = {
      online: () => {
        this.#view.status(this.#conversation);
        conversation.online();
      },
      offline: () => this.#view.status(this.#conversation),
      left: () => conversation.leave(),
      woken: (event?: Partial<PageTransitionEvent>) => {
        owner.check();
        conversation.wake();
        // Back from the browser's cache of pages, after the visitor has written on others.
        if (event?.persisted && store.isStale) {
          this.#clear();
          this.#restore(store.read());
        }
      },
      hidden: () => {
        if (isBusy(conversation.state)) this.#save();
      },
    };
    listen(events, this.#gone.signal);
  }

  #rate(turn: Turn, rating: Rating): void {
    turn.rating = rating;
    this.#parts.transport.rate(turn.first ?? turn.id, rating);
    this.#save();
    announce(this.#parts.host, "feedback", { id: turn.id, rating });
  }

  #renew(): void {
    this.reset();
    this.#view.composer.focus();
  }

  #addMenu(): void {
    const acts = {
      request: async (...to: Parameters<KeptChat["request"]>) => this.#chat?.request(...to),
      renew: () => this.#renew(),
      said: (turn: Turn, newer: readonly unknown[]) => this.#said(turn, newer),
      waits: (isWaiting: boolean) => this.#parts.store.write({ isWaiting }),
      resume: (from: AnswerSource) => this.#conversation.retry(from),
      turns: () => this.#conversation.turns,
      send: (...message: Parameters<Conversation["send"]>) =>
        this.#view.whenAgreed(() => this.#conversation.send(...message)),
    };
    this.#view.addMenu(acts, !!this.#chat);
  }

  /** Shows the line of a person. Returns false while an answer is in progress. */
  #said(turn: Turn, newer: readonly unknown[]): boolean {
    const { turns } = this.#conversation;
    const next = turns.findIndex(({ id, first }) => newer.includes(first ?? id));
    const later = next < 0 ? 0 : turns.length - next;
    const isAdded = this.#conversation.add(turn, later);
    if (isAdded) {
      this.#view.transcript.added(turn, later);
      this.#ended(turn);
    }
    return isAdded;
  }

  /** Clears everything of the previous user from the page. */
  #forget(reason: Reason): void {
    this.#clear();
    if (reason === "expired") return;
    this.#view.withdrawConsent();
    // A visitor who signs in keeps the draft that they have just written.
    if (reason !== "signed-in") this.#view.composer.clear();
  }

  #setUnread(unread: number): void {
    this.#unread = unread;
    this.#view.launcher.unread(unread);
  }

  #clear(): void {
    this.#conversation.clear();
    this.#view.clear();
    this.#setUnread(0);
    this.#view.status(this.#conversation);
  }

  #reveal(): void {
    if (this.#view.isOpen) return;
    this.#show(true);
    this.#view.transcript.follow();
  }

  #show(isOpen: boolean): void {
    this.#view.show(isOpen);
    this.#setUnread(0);
    // Only the draft: another tab may have stored more turns.
    if (this.#conversation.turns.length > 0) this.#save({});
    announce(this.#parts.host, isOpen ? "open" : "close", {});
  }

  #save(change: Partial<Stored> = { turns: this.#conversation.turns }): void {
    const { store, launcher } = this.#parts;
    // A chat inside the page was not opened by the visitor, so the next page starts closed.
    const isOpen = this.#view.isOpen && launcher.isConnected;
    store.write({ isOpen, unread: this.#unread, ...change });
  }
}
