/** The interface between the file for answers and a feature, whose file is fetched at its first use. */

import type { AnswerTexts } from "../answer/english.ts";
import type { MenuActs } from "../answer/menu.ts";
import type { Texts } from "../open/english.ts";
import type { Reply } from "../open/transport/transport.ts";
import type { Turn } from "../open/turn.ts";

/** The means of a feature. */
export interface Kit {
  readonly root: ShadowRoot | null;
  readonly texts: Texts & AnswerTexts;
  /** Announces a text to screen readers. */
  speak(text: string): void;
  /** The stored chat, once there is one. */
  chat(): MenuActs | undefined;
  /** Adds the button for a person to `row`, if the site has a contact form with this `message`. */
  offer(row: HTMLElement, message?: string): void;
}

/** The means to send to the stored chat, which its transport has. */
export interface ChatPort {
  send(body: object): Promise<Response>;
  replyOf(response: Response): Promise<Reply>;
}

/** The moments of a conversation; a feature has functions for those that concern it. */
export interface Feature {
  /**
   * The answer in `node` has another event about tools, or has ended. `isNew`: since this page was
   * opened.
   */
  used?(turn: Turn, node: HTMLElement, isNew: boolean): void;
  /** `row` is the row of buttons below a finished answer. */
  answered?(row: HTMLElement, turn: Turn): void;
  /** Sends the visitor's click on a card. */
  click?(turn: Turn, port: ChatPort): Promise<Reply>;
}
