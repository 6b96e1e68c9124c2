/**
 * Parses the content of a line: emphasis, code and links, by CommonMark's delimiter algorithm, in
 * linear time. Raw HTML stays text, images become links, and a link to an unsafe address is shown as
 * written.
 *
 * Unlike CommonMark, emphasis may begin and end next to Chinese and Japanese punctuation, which is
 * not followed by a space. The search for a mark's partner covers at most eight marks.
 */

import { DOLLARS } from "./dollars.ts";
import { type Node, node } from "./node.ts";

const QUOTED = /\\([!-/:-@[-`{-~])|&(#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,6});/gi;

/**
 * The syntax in the order of precedence; 1 begins a formula, which is shown as it is written. Each
 * alternative fails in linear time.
 */
const TOKENS = new RegExp(
  `(\\\\[([]|\\$\\$)|(${QUOTED.source})|${[
    /(?<! )( *\\?\n)/, // 5 end of a line
    /(`+)/, // 6 code
    /(\*+|_+|~+)/, // 7 emphasis
    /(!?\[)/, // 8: the start of a link
    /(\])/, // 9: the end of a link
    /<(https?:\/\/[^\s<>]+)>/, // 10 address in angle brackets
    /(<br ?\/?>)/, // 11 the only tag that models often use
    /<[a-z/!?][^<>]*>/, // other tags, kept whole
    /(?<![\w/:.-])(https?:\/\/[^\s<>`“”\u3001-\u3011\uff01-\uff1f]+)/, // 12 bare address
    DOLLARS, // a formula, kept whole
  ]
    .map(({ source }) => source)
    .join("|")}`,
  "gi",
);

const TARGET =
  /\([ \n]{0,4}(?:<([^<>\n]*)>|([^\s()<]*(?:\([^\s()]*\)[^\s()]*)*))(?:[ \n]{1,4}(?:"[^"]*"|'[^']*'))?[ \n]{0,4}\)/y;

const ALLOWED = /^(?:https?:\/\/|mailto:|tel:)[^\s]/i;

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
};

const MARK = /[\p{P}\p{S}]/u;
/** The letters of scripts that put spaces between words. */
const LETTER = /[\w\xc0-\u1fff]/;

/**
 * The nodes of a text. `isOpen`: more text follows, so an open mark counts as closed at the end, and
 * marks that are still ambiguous are left out.
 */
export function inline(source: string, isOpen: boolean): Node[] {
  const text = isOpen ? readable(source) : source;
  const pieces: Node[] = [];
  /** The positions of brackets that may open a link. */
  const brackets: number[] = [];
  const unclosed = new Set<number | string>();
  const put = (written: string): void => void pieces.push(node("text", written));
  let from = 0;
  TOKENS.lastIndex = 0;
  for (let found = TOKENS.exec(text); found; found = TOKENS.exec(text)) {
    put(text.slice(from, found.index));
    from = TOKENS.lastIndex;
    const [all, formula, quoted, , , end, ticks, marks, opens, closes, framed, br, bare] = found;
    const address = framed ?? trimmed(bare ?? "");
    if (formula) {
      const close = formula.replace("(", ")").replace("[", "]");
      let stop = unclosed.has(formula) ? -1 : text.indexOf(close, from);
      if (stop < 0) unclosed.add(formula);
      else stop += 2;
      if (stop < 0 && isOpen) stop = text.length;
      put(stop < 0 ? plain(all) : text.slice(found.index, stop));
      if (stop > 0) from = stop;
    } else if (end && !/\\| {2}/.test(end)) put("\n");
    else if (end ?? br) pieces.push(node("br"));
    else if (ticks) {
      const { length } = ticks;
      let stop = unclosed.has(length) ? -1 : closing(text, from, length);
      if (stop < 0) unclosed.add(length);
      if (stop < 0 && isOpen) stop = text.length;
      if (stop < 0) put(ticks);
      else {
        pieces.push(node("code", code(text.slice(from, stop))));
        from = stop + length;
      }
    } else if (marks) {
      pieces.push(mark(marks, text[found.index - 1] ?? " ", text[from] ?? " "));
    } else if (opens) {
      brackets.push(pieces.length);
      put(opens);
    } else if (closes) {
      from += link(text, from, pieces, brackets);
    } else if (address) {
      pieces.push(node("a", "", address, 0, [node("text", address)]));
      if (!framed) from = found.index + address.length;
    } else put(quoted ? plain(all) : all);
    TOKENS.lastIndex = from;
  }
  put(text.slice(from));
  return emphasis(pieces, isOpen);
}

/** The text without an ending that is ambiguous until more text arrives. */
function readable(text: string): string {
  return text
    .replace(/!?\[([^[\]]*)\]\([^()\s]*$/, "$1")
    .replace(/(?<![*_~`])(?:[*_~`]+|!?\[|\\|&#?\w{0,6}|<[a-z/]{0,3})$/, "");
}

function plain(text: string): string {
  return text.replace(QUOTED, (all, escaped?: string, name = "") => {
    if (escaped) return escaped;
    if (name[0] !== "#") return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] as string) : all;
    const code = Number(`0${name.slice(1)}`);
    return code > 0 && code < 0x110000 ? String.fromCodePoint(code) : "\ufffd";
  });
}

/** Marks of emphasis that may open (o) or close (c); an eager mark (e) will probably be closed. */
function mark(sign: string, before: string, after: string): Node {
  const isWord = sign[0] === "_";
  const mayOpen = !!after.trim() && !(MARK.test(after) && LETTER.test(before));
  const mayClose = !!before.trim() && !(MARK.test(before) && LETTER.test(after));
  const opens = mayOpen && !(isWord && LETTER.test(before));
  const closes = mayClose && !(isWord && LETTER.test(after));
  if (sign[0] === "~" && sign.length !== 2) return node("text", sign);
  const may = (opens ? "o" : "") + (closes ? "c" : "") + (closes && sign.length < 2 ? "" : "e");
  return node("mark", sign, may, sign.length);
}

function closing(text: string, from: number, length: number): number {
  const ticks = /`+/g;
  ticks.lastIndex = from;
  for (let found = ticks.exec(text); found; found = ticks.exec(text)) {
    if (found[0].length === length) return found.index;
  }
  return -1;
}

function code(text: string): string {
  const line = text.replaceAll("\n", " ");
  const isPadded = line[0] === " " && line.endsWith(" ") && line.trim();
  return isPadded ? line.slice(1, -1) : line;
}

/** A bare address without the punctuation that follows it. */
function trimmed(url: string): string {
  let end = url.length;
  while (end > 0 && "?!.,:;*_~'\"]|)".includes(url[end - 1] ?? "")) {
    if (url[end - 1] === ")" && url.includes("(")) break;
    end -= 1;
  }
  return url.slice(0, end);
}

/** Handles a `]`: a link, or a plain bracket. Returns the length of the link's target. */
function link(text: string, from: number, pieces: Node[], brackets: number[]): number {
  const at = brackets.pop();
  TARGET.lastIndex = from;
  const found = at === undefined ? null : TARGET.exec(text);
  const address = plain(found?.[1] ?? found?.[2] ?? "");
  if (at === undefined || !found || !ALLOWED.test(address)) {
    pieces.push(node("text", "]"));
    return 0;
  }
  // A link contains no links; an image in a link becomes its text.
  const kids = emphasis(pieces.splice(at + 1), false).flatMap((kid) =>
    kid.kind === "a" ? kid.kids : kid,
  );
  if (pieces[at]?.literal === "[") brackets.length = 0;
  pieces[at] = node("a", "", address, 0, kids.length > 0 ? kids : [node("text", address)]);
  return found[0].length;
}

interface Opener {
  readonly mark: Node;
  readonly at: number;
}

/** Pairs the marks, nearest first. */
function emphasis(pieces: readonly Node[], isOpen: boolean): Node[] {
  const done: Node[] = [];
  const openers: Opener[] = [];
  const wrap = ({ mark, at }: Opener, size: number): void => {
    const kind = size < 2 ? "em" : mark.literal[0] === "~" ? "del" : "strong";
    mark.literal = mark.literal.slice(size);
    done.push(node(kind, "", "", 0, merged(done.splice(at + 1))));
  };
  for (const piece of pieces) {
    if (piece.info.includes("c") && piece.kind === "mark") {
      for (let tries = openers.length - 1; tries >= 0 && piece.literal; ) {
        const opener = openers[tries] as Opener;
        if (tries < openers.length - 8) break;
        if (fits(opener.mark, piece)) {
          openers.length = tries + 1;
          const size = Math.min(2, piece.literal.length, opener.mark.literal.length);
          wrap(opener, size);
          piece.literal = piece.literal.slice(size);
          if (opener.mark.literal) continue;
          openers.pop();
        }
        tries -= 1;
      }
    }
    if (piece.kind === "mark" && piece.info[0] === "o" && piece.literal) {
      openers.push({ mark: piece, at: done.length });
    }
    done.push(piece);
  }
  for (const opener of isOpen ? openers.reverse() : []) {
    while (opener.mark.info.endsWith("e") && opener.mark.literal) {
      wrap(opener, Math.min(2, opener.mark.literal.length));
    }
  }
  return merged(done);
}

function fits(opener: Node, closer: Node): boolean {
  const isBoth = opener.info.includes("c") || closer.info[0] === "o";
  return (
    opener.literal[0] === closer.literal[0] && !(isBoth && (opener.size + closer.size) % 3 === 0)
  );
}

/** Joins adjacent texts, and removes empty texts. */
function merged(nodes: readonly Node[]): Node[] {
  const kept: Node[] = [];
  for (const each of nodes) {
    const last = kept.at(-1);
    if (each.kind !== "text" && each.kind !== "mark") kept.push(each);
    else if (last?.kind === "text") last.literal += each.literal;
    else if (each.literal) kept.push(node("text", each.literal));
  }
  return kept;
}
