/** The interface between the file for answers and a feature, which is a file of its own. */

import type { Dictionary } from "../dictionaries.ts";
import type { PageTools } from "../features/page-tools/tool.ts";
import type { ChatActs } from "../open/chat-acts.ts";
import type { Texts } from "../open/english.ts";
import type { Owner } from "../open/owner.ts";
import type { Store } from "../open/store.ts";
import type { Ask, KeptChat } from "../open/transport/transport.ts";
import type { Turn } from "../open/turn.ts";
import type { Settings } from "../settings.ts";
import type { AnswerTexts } from "./english.ts";

/** The means of a feature. */
export interface Kit {
  readonly root: ShadowRoot | null;
  /** A feature adds its own texts: `{ ...ENGLISH, ...texts }`. */
  readonly texts: Texts & AnswerTexts & Dictionary;
  readonly settings: Settings;
  readonly apiUrl: URL;
  /** The loader's script element. */
  readonly script: HTMLScriptElement | null;
  /** What the page has given to `ChatWidget.tools`. */
  tools(): PageTools | undefined;
  /** Announces a text to screen readers. */
  speak(text: string): void;
  /** The stored chat, once there is one. */
  chat(): ChatActs | undefined;
  /** The function that sends a question of the visitor, or `turn`, with all that the site adds. */
  asking(turn?: Turn): Promise<Ask>;
  /** Sends a question, as if the visitor had typed it. Does nothing during an answer. */
  send(question: string): void;
  /** Tells all features of a moment. */
  tell: Tell;
}

/** A stored chat of an earlier page. */
export interface Restored {
  /** The name of a person whose line is new. */
  readonly writer?: string | undefined;
  /** Whether the last answer is being made. */
  readonly isPending?: boolean;
  /** Whether the visitor waits for a person, or talks to a person. */
  readonly isWaiting?: boolean;
}

/** The moments of a chat, and what a feature is told of each. */
export interface Moments {
  /** The file for answers is there. */
  started: [];
  /** The panel exists, with the chat of an earlier page. */
  drawn: [panel: HTMLElement];
  /** The items of the header's menu are drawn, with the first answer of any chat. */
  menu: [items: HTMLElement, chat: ChatActs];
  /** The service stores the chat. */
  kept: [restored: Restored];
  /**
   * The answer in `node` is awaited, has another event, or has ended. `isNew`: since this page was opened.
   */
  changed: [node: HTMLElement, turn: Turn, isNew: boolean];
  /** The turn is complete; `row` is the row below it, which is hidden if there is no answer of a model. */
  answered: [row: HTMLElement, turn: Turn];
  /** The visitor changes the question of `turn`; undefined: the visitor leaves it as it was. */
  editing: [turn?: Turn];
  /** The question is sent again at `due`, by `performance.now()`; `note` says why. */
  delayed: [note: HTMLElement, due: number];
  /** The answer has ended early; `note` says why. */
  failed: [note: HTMLElement, turn: Turn];
  /** The visitor has rated the answer above `row`. */
  rated: [row: HTMLElement, turn: Turn];
  /** A person is offered in `row`. `message`: what the visitor may want to write to them. */
  offered: [row: HTMLElement, message?: string];
  /** The visitor has asked for a person. */
  requested: [];
}

export type Moment = keyof Moments;

export type Tell = <M extends Moment>(moment: M, ...args: Moments[M]) => void;

/** A function for each moment that concerns the feature. */
export type Told = { readonly [M in Moment]?: (...args: Moments[M]) => void };

export type Feature = Told & {
  /**
   * Returns the function that sends the question of `turn`, or a contact form. It may change the requests
   * of `ask` and their responses.
   */
  readonly asking?: (turn: Turn | undefined, ask: Ask) => Promise<Ask>;
  /** Merges the chat that the service stores into that of the browser, before it is drawn. */
  readonly restore?: (chat: KeptChat, store: Store, owner: Owner) => Promise<Restored>;
};

/** What the file of a feature exports. */
export interface FeatureModule {
  default(kit: Kit): Feature | Promise<Feature>;
}
