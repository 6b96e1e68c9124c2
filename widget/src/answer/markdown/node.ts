/** The nodes of an answer. Nodes are plain values; the view turns them into elements. */

/** The kinds are named as in HTML, except the first two and the run. */
export type Kind =
  | "text"
  /** A mark that may open or close emphasis; the parser's result contains none. */
  | "mark"
  /** A part of a block's text. `inline.ts` parses the text into the nodes below. */
  | "span"
  // Blocks. The root is a div. Every heading is an h3; its level is in `size`.
  | "div"
  | "blockquote"
  | "ul"
  | "ol"
  | "li"
  | "p"
  | "h3"
  | "hr"
  | "pre"
  | "table"
  | "tr"
  | "th"
  | "td"
  // Inline nodes.
  | "em"
  | "strong"
  | "del"
  | "code"
  | "a"
  | "br";

export interface Node {
  readonly kind: Kind;
  readonly kids: Node[];
  /** The text of a text, run or inline code; the fence of a code block, empty if it is indented. */
  literal: string;
  /** A link's address, a code block's language, a cell's alignment, a list's mark, a task's state. */
  readonly info: string;
  /** A heading's level, a list's first number, the indentation of an item or fence. */
  readonly size: number;
}

export function node(kind: Kind, literal = "", info = "", size = 0, kids: Node[] = []): Node {
  return { kind, kids, literal, info, size };
}
