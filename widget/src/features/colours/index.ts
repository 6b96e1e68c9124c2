/**
 * Colours the code blocks of an answer once it is complete. The browser's highlights colour ranges of text,
 * so the elements of the answer stay as they are, and a selection in them, too.
 */

import type { Feature, Kit } from "../../answer/feature.ts";
import { adopt } from "../../open/view/dom.ts";
import stylesheet from "./colours.css";
import { type Token, type TokenKind, tokensOf } from "./tokens.ts";

/** Longer code stays as it is. */
const LONGEST = 20_000;

export default function colours({ root }: Kit): Feature {
  const { CSS: css, Highlight } = root?.ownerDocument.defaultView ?? {};
  // Firefox before release 140 has none. Where a theme of the system forces its colours, they are those
  // of a selection.
  if (!css?.highlights || !Highlight || matchMedia("(forced-colors: active)").matches) return {};
  adopt(root, stylesheet);
  const kinds: readonly TokenKind[] = ["comment", "string", "number", "keyword"];
  const highlights = new Map(kinds.map((kind) => [kind, new Highlight()]));
  for (const [kind, highlight] of highlights) css.highlights.set(`kefu-${kind}`, highlight);
  const coloured = new WeakSet<Element>();
  return {
    changed: (node, { ending }) => {
      if (ending === "open") {
        // The first question of a chat: the ranges are those of an earlier chat.
        const isFirst = !node.previousElementSibling?.matches(".turn");
        for (const highlight of isFirst ? highlights.values() : []) highlight.clear();
        return;
      }
      for (const card of node.querySelectorAll("figure.code")) {
        const code = card.querySelector("code");
        const text = code?.textContent ?? "";
        if (!code || coloured.has(code) || text.length > LONGEST) continue;
        coloured.add(code);
        const language = card.querySelector("figcaption span")?.textContent ?? "";
        const tokens = tokensOf(text, language);
        for (const [kind, range] of rangesOf(code, tokens)) highlights.get(kind)?.add(range);
      }
    },
  };
}

/** The ranges of the tokens in the texts of `code`, which has an element for each part of a long block. */
function* rangesOf(
  code: Element,
  tokens: readonly Token[],
): Generator<readonly [TokenKind, StaticRange]> {
  const texts = code.ownerDocument.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  let text = texts.nextNode() as Text | null;
  /** The position at which `text` begins. */
  let from = 0;
  for (const { kind, start, end } of tokens) {
    for (let at = start; text && at < end; ) {
      const until = from + text.length;
      if (at < until) {
        const stop = Math.min(end, until);
        const place = { startContainer: text, startOffset: at - from };
        yield [kind, new StaticRange({ ...place, endContainer: text, endOffset: stop - from })];
        at = stop;
      }
      if (at < end) {
        from = until;
        text = texts.nextNode() as Text | null;
      }
    }
  }
}
