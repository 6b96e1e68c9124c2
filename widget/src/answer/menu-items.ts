/** The items of the menu in the header: the one place to add an item. */

import type { ChatActs } from "../open/chat-acts.ts";
import { element } from "../open/view/dom.ts";
import { copy } from "./copy.ts";
import type { AnswerTexts } from "./english.ts";
import { citedOf, withSources } from "./sources.ts";

export interface Item {
  /** The key of the item's text. */
  readonly text: keyof AnswerTexts;
  /** The key of the text that asks for a second click, before `act` is called. */
  readonly confirm?: keyof AnswerTexts;
  /** Whether the item is shown only while the service stores the chat. */
  readonly isForKept?: boolean;
  /** Returns the key of a text for the visitor, if there is something to say. `menu`: the items. */
  act(chat: ChatActs, menu: HTMLElement): Promise<keyof AnswerTexts | undefined> | undefined;
}

export const ITEMS: readonly Item[] = [
  { text: "newChat", act: (chat) => void chat.renew() },
  { text: "copyChat", act: copyChat },
  { text: "textSize", act: resizeText },
  { text: "download", isForKept: true, act: download },
  { text: "erase", confirm: "eraseForGood", isForKept: true, act: erase },
];

/** The sizes of the conversation, one after another. */
const SIZES = ["", "1.2", "1.4"];

/** Some browsers read the file some time after the click. */
const FILE_MS = 60_000;

/** Copies the conversation as Markdown, with the questions as quotes, like a downloaded chat. */
async function copyChat({ turns }: ChatActs, menu: HTMLElement) {
  const parts = turns().flatMap(({ question, answer, person, sources }) => {
    const said = withSources(answer, citedOf(sources, location.href));
    return [question.replace(/^(?=[\s\S])/gm, "> "), person ? `${person}: ${said}` : said];
  });
  return (await copy(parts.filter(Boolean).join("\n\n"), menu)) ? "copied" : "failed";
}

function resizeText(_chat: ChatActs, menu: HTMLElement) {
  const style = menu.closest(".panel")?.querySelector<HTMLElement>(".log")?.style;
  if (style) style.zoom = SIZES[SIZES.indexOf(style.zoom) + 1] ?? "";
  return undefined;
}

async function download({ request }: ChatActs) {
  const response = await request("/export?format=md");
  const file = response?.ok ? await response.blob().catch(() => undefined) : undefined;
  if (!file) return "failed";
  const href = URL.createObjectURL(file);
  element("a", { href, download: "chat.md" }).click();
  setTimeout(() => URL.revokeObjectURL(href), FILE_MS);
  return undefined;
}

async function erase({ request, renew }: ChatActs) {
  const status = (await request("", { method: "DELETE" }))?.status;
  if (status !== 204 && status !== 404) return "failed";
  renew();
  return undefined;
}
