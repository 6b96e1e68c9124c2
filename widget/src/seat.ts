/** What the loader hands over to the chat: two scripts, built apart, that meet at one element. */

import type { Acts } from "./handle.ts";
import type { Settings } from "./settings.ts";

export const HOST_TAG = "kefu-chat";

/** In order: names inside of one file are not those of another. */
export type Seat = readonly [
  launcher: HTMLButtonElement,
  settings: Settings,
  apiUrl: string,
  /** Which the page embeds; the widget's files are beside it. */
  script: HTMLScriptElement | null,
  /** Takes what the handle is to act on; what was asked of it before is done now. */
  take: (chat: Acts) => void,
];

/** The element that both know, as long as it waits for the chat. */
export interface Host extends HTMLElement {
  kefu?: Seat | undefined;
}
