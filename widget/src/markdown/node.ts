/** What an answer is made of. Plain values: the view turns them into elements. */

/** Named as in HTML, but for the first two and the run. */
export type Kind =
  | "text"
  /** Signs that may open or close emphasis; never in what a parser hands out. */
  | "mark"
  /** A run: a stretch of a block's own text; what is inside it is found by `inline.ts`. */
  | "span"
  // Blocks. The root is a div; every heading is an h3 with its level as its size.
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
  // Inside a line.
  | "em"
  | "strong"
  | "del"
  | "code"
  | "a"
  | "br";

export interface Node {
  readonly kind: Kind;
  readonly kids: Node[];
  /** Of a text, a run and inline code; of a block of code its fence, empty if it is indented. */
  literal: string;
  /** A link's address, the language of code, a cell's alignment, a list's mark, a task's state. */
  readonly info: string;
  /** The level of a heading, the first number of a list, the indentation of an item or a fence. */
  readonly size: number;
}

export function node(kind: Kind, literal = "", info = "", size = 0, kids: Node[] = []): Node {
  return { kind, kids, literal, info, size };
}
