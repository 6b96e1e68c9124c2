/** The interface between the loader and the chat: two scripts that share one element. */

import type { Dictionary } from "./dictionaries.ts";
import type { PageTools } from "./features/page-tools/tool.ts";
import type { Acts } from "./handle.ts";
import type { FetchPart } from "./parts.ts";
import type { Settings } from "./settings.ts";

export const HOST_TAG = "kefu-chat";

export interface Seat {
  readonly launcher: HTMLButtonElement;
  readonly settings: Settings;
  readonly apiUrl: string;
  /** The loader's script element; the widget's other files are in the same folder. */
  readonly script: HTMLScriptElement | null;
  /** Fetches a module of the build that the loader belongs to. */
  fetch: FetchPart;
  /** The texts in the visitor's language, from the moment at which the chat is fetched. */
  texts?: Promise<Dictionary>;
  /** What the page has given to `ChatWidget.tools`. */
  tools?: PageTools;
  /** Receives the functions of the chat, and runs the calls that were queued before. */
  take(chat: Acts): void;
}

/**
 * The element that both scripts know. The loader may be of an earlier release than the chat, which
 * must work with each `Seat` that was ever released. `kefu` is set until the chat takes over.
 */
export interface Host extends HTMLElement {
  kefu?: Seat | undefined;
}
