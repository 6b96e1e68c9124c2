/** What a visitor may do with a chat that the service keeps: take it along, or have it deleted. */

import { wordsOf } from "./keeping-words.ts";
import { button, element, say } from "./view/dom.ts";

/** The second click of a double click is no answer to the question. */
const SETTLE_MS = 500;

export interface Deeds {
  take(): Promise<Blob | undefined>;
  /** Whether it is gone. */
  erase(): Promise<boolean>;
  /** The visitor has begun anew. */
  forget(): void;
}

/** Shows it in the panel whenever there is a kept chat; the function looks again. */
export function menu(host: HTMLElement, isKept: () => boolean, deeds: Deeds): () => void {
  const words = wordsOf(host.lang);
  const sheet = new CSSStyleSheet();
  let node: HTMLElement | undefined;
  const place = (root: ShadowRoot): HTMLElement | undefined => {
    const log = root.querySelector(".log");
    if (!log) return undefined;
    root.adoptedStyleSheets.push(sheet);
    // Every turn is gone: a new chat.
    const watch = new MutationObserver(() => {
      if (!log.querySelector(".turn")) deeds.forget();
    });
    watch.observe(log, { childList: true });
    const placed = buttons(words, deeds, () =>
      // As the visitor would: it begins anew, with the focus where they write.
      root.querySelector<HTMLElement>(".renew")?.click(),
    );
    root.querySelector(".disclaimer")?.append(placed);
    return placed;
  };
  const show = (): void => {
    node ??= host.shadowRoot ? place(host.shadowRoot) : undefined;
    if (node) node.hidden = !isKept();
    // Of a kept chat no other answer can be asked for: it would be one more message.
    sheet.replaceSync(
      `.disclaimer button{text-decoration:underline;color:inherit}${isKept() ? ".again{display:none!important}" : ""}`,
    );
  };
  host.addEventListener("chat-widget:open", show);
  return show;
}

function buttons(words: Record<string, string>, deeds: Deeds, gone: () => void): HTMLElement {
  const told = element("span");
  const tell = (word = ""): void => {
    told.textContent = word && ` · ${word}`;
    if (word) say(told, word);
  };
  const take = async (): Promise<void> => {
    const file = await deeds.take();
    tell(file ? "" : words.failed);
    if (!file) return;
    const href = URL.createObjectURL(file);
    element("a", { href, download: "chat.md" }).click();
    // Not at once: some browsers read it later.
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  };
  let since = Number.NaN;
  const eraser = button(
    {},
    async () => {
      if (performance.now() - since > SETTLE_MS) {
        const isGone = await deeds.erase();
        tell(isGone ? "" : words.failed);
        if (isGone) gone();
      } else if (Number.isNaN(since)) {
        since = performance.now();
        eraser.textContent = words.sure ?? "";
        say(eraser, eraser.textContent);
      }
    },
    words.erase ?? "",
  );
  eraser.addEventListener("blur", () => {
    since = Number.NaN;
    eraser.textContent = words.erase ?? "";
  });
  return element("span", {}, " · ", button({}, take, words.take ?? ""), " · ", eraser, told);
}
