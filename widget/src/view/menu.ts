/** The menu of a stored chat: download it, or delete it. */

import type { AnswerSource } from "../conversation.ts";
import type { ExtraTexts } from "../extra-texts.ts";
import type { Turn } from "../turn.ts";
import { button, element } from "./dom.ts";

/** Within this time, a click on the confirmation is the second half of a double click. */
const SETTLE_MS = 500;
/** Some browsers read the file some time after the click. */
const FILE_MS = 60_000;

export interface MenuActs {
  /** Sends a request to the path `rest` below the chat's address. */
  request(rest: string, init?: RequestInit): Promise<Response | undefined>;
  /** Called when the chat is deleted. */
  erased(): void;
  /** Shows the line of a person. Returns false while an answer is in progress. */
  said(turn: Turn): boolean;
  /** Stores whether a person may write, so that the next page looks for their lines. */
  waits(isWaiting: boolean): void;
  /** Requests the last answer again, from `from`, after it ended without being complete. */
  resume(from: AnswerSource): void;
}

export function menu(
  texts: ExtraTexts,
  speak: (text: string) => void,
  acts: MenuActs,
): HTMLElement {
  const failure = element("span");
  const show = (isFailed: boolean): void => {
    failure.textContent = isFailed ? ` · ${texts.failed}` : "";
    if (isFailed) speak(texts.failed);
  };
  const download = async (): Promise<void> => {
    const response = await acts.request("/export?format=md");
    const file = response?.ok ? await response.blob().catch(() => undefined) : undefined;
    show(!file);
    if (file) save(file);
  };
  const erase = async (): Promise<void> => {
    const status = (await acts.request("", { method: "DELETE" }))?.status;
    const isErased = status === 204 || status === 404;
    show(!isErased);
    if (isErased) acts.erased();
  };
  return element(
    "span",
    {},
    " · ",
    button({}, download, texts.download),
    " · ",
    eraser(texts, speak, erase),
    failure,
  );
}

/** A button that asks for confirmation, and deletes on a second click. */
function eraser(texts: ExtraTexts, speak: (text: string) => void, erase: () => void): HTMLElement {
  let since: number | undefined;
  const node = button(
    {
      onblur: () => {
        since = undefined;
        node.textContent = texts.erase;
      },
    },
    () => {
      if (since === undefined) {
        since = performance.now();
        node.textContent = texts.eraseForGood;
        speak(texts.eraseForGood);
      } else if (performance.now() - since > SETTLE_MS) erase();
    },
    texts.erase,
  );
  return node;
}

function save(file: Blob): void {
  const href = URL.createObjectURL(file);
  element("a", { href, download: "chat.md" }).click();
  setTimeout(() => URL.revokeObjectURL(href), FILE_MS);
}
