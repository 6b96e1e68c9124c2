/** Marks in an element what may name a person. */

import { el } from "./dom.ts";
import type { Mark } from "./types.ts";

/** The marked parts of a text. Marks count characters as Python does. */
export function markedParts(text: string, marks: readonly Mark[]): string[] {
  const letters = [...text];
  return marks.map(({ start, end }) => letters.slice(start, end).join(""));
}

/** Puts a `mark` around each place of `parts` in the texts below `node`. */
export function markParts(node: Element, parts: readonly string[]): void {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  for (const text of texts) {
    const pieces = piecesOf(text.data, parts);
    if (!pieces.some(({ isMarked }) => isMarked)) continue;
    text.replaceWith(
      ...pieces.map(({ text, isMarked }) => (isMarked ? el("mark", {}, text) : text)),
    );
  }
}

interface Piece {
  readonly text: string;
  readonly isMarked: boolean;
}

/** `text` in pieces: those that are one of `parts`, and the others. */
export function piecesOf(text: string, parts: readonly string[]): Piece[] {
  const pieces: Piece[] = [];
  let plain = "";
  for (let at = 0; at < text.length; ) {
    const found = parts.filter((part) => part && text.startsWith(part, at));
    const part = found.sort((a, b) => b.length - a.length)[0];
    if (part) {
      if (plain) pieces.push({ text: plain, isMarked: false });
      pieces.push({ text: part, isMarked: true });
      plain = "";
    } else plain += text[at];
    at += part?.length ?? 1;
  }
  if (plain) pieces.push({ text: plain, isMarked: false });
  return pieces;
}
