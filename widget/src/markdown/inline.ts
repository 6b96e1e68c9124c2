/**
 * Emphasis, code, links and the rest of what stands inside a line: CommonMark's delimiter
 * algorithm, linear in the length of the text. Raw HTML stays text, images become links, and a
 * link to an address that a visitor should not follow stays as it was written.
 *
 * Unlike CommonMark, emphasis may begin and end beside Chinese and Japanese punctuation, which no
 * space follows, and is not looked for further out than eight marks.
 */

import { type Node, node } from "./node.ts";

const QUOTED = /\\([!-/:-@[-`{-~])|&(#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,6});/gi;

/** What is special, in the order of precedence. Every part of it gives up in linear time. */
const TOKENS = new RegExp(
  `(${QUOTED.source})|${[
    /(?<! )( *\\?\n)/, // 4 end of a line
    /(`+)/, // 5 code
    /(\*+|_+|~+)/, // 6 emphasis
    /(!?\[)/, // 7 opens a link
    /(\])/, // 8 closes it
    /<(https?:\/\/[^\s<>]+)>/, // 9 address in angle brackets
    /(<br ?\/?>)/, // 10 the one tag that models write on purpose
    /<[a-z/!?][^<>]*>/, // other tags, kept whole
    /(?<![\w/:.-])(https?:\/\/[^\s<>`“”\u3001-\u3011\uff01-\uff1f]+)/, // 11 bare address
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
/** Of the scripts that put spaces between words. */
const LETTER = /[\w\xc0-\u1fff]/;

/**
 * The nodes of a text. `isOpen`: more is to come, so what has been opened counts as closed at the
 * end, and signs that say nothing yet are left out.
 */
export function inline(source: string, isOpen: boolean): Node[] {
  const text = isOpen ? readable(source) : source;
  const pieces: Node[] = [];
  /** Where brackets stand that may open a link. */
  const brackets: number[] = [];
  const unclosed = new Set<number>();
  const put = (written: string): void => void pieces.push(node("text", written));
  let from = 0;
  TOKENS.lastIndex = 0;
  for (let found = TOKENS.exec(text); found; found = TOKENS.exec(text)) {
    put(text.slice(from, found.index));
    from = TOKENS.lastIndex;
    const [all, quoted, , , end, ticks, marks, opens, closes, framed, br, bare] = found;
    const address = framed ?? trimmed(bare ?? "");
    if (end && !/\\| {2}/.test(end)) put("\n");
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

/** Without what the end of an unfinished text cannot say yet. */
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

/** Marks of emphasis that may open (o) and close (c); an eager one (e) most likely will be closed. */
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

/** A bare address without the punctuation of its sentence. */
function trimmed(url: string): string {
  let end = url.length;
  while (end > 0 && "?!.,:;*_~'\"]|)".includes(url[end - 1] ?? "")) {
    if (url[end - 1] === ")" && url.includes("(")) break;
    end -= 1;
  }
  return url.slice(0, end);
}

/** At a `]`: the link it ends, or a plain bracket. Returns how much of the text was its target. */
function link(text: string, from: number, pieces: Node[], brackets: number[]): number {
  const at = brackets.pop();
  TARGET.lastIndex = from;
  const found = at === undefined ? null : TARGET.exec(text);
  const address = plain(found?.[1] ?? found?.[2] ?? "");
  if (at === undefined || !found || !ALLOWED.test(address)) {
    pieces.push(node("text", "]"));
    return 0;
  }
  // A link holds no links; a picture in a link is its words.
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

/** Neighbouring texts are one text, empty ones none. */
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
