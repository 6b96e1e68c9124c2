/**
 * Parses Markdown that arrives in pieces. A complete line is parsed once. Only the incomplete last
 * line is parsed again with each piece. Long lines and long blocks are divided into runs at places
 * that depend on the text alone. With such places, the work for a piece does not grow with the
 * text, and the result does not depend on the pieces.
 *
 * CommonMark and GFM, except: link definitions, footnotes and HTML are shown as written; blank lines
 * between items have no effect; cells beyond the head of a table are kept; and emphasis or a link
 * that is longer than a run is shown as written.
 */

import { type Node, node } from "./node.ts";

/** Maximum length in characters of a line that is parsed at once; longer lines are divided. */
const LINE = 4_096;
/** Maximum length of a run in characters. */
const RUN = 2_048;
/** Maximum depth of quotes and lists; deeper marks are text. */
const DEPTH = 24;

const BLANK = /^[ \t]*$/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])( +|$)/;
const TASK = /^\[([ xX])\] +(?=[^ ])/;
const FENCE = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)$/;
const FENCE_END = /^ {0,3}(`+|~+) *$/;
const HEAD = /^ {0,3}(#{1,6})(?: +|$)/;
const HEAD_END = /(?:^|(?<! ) +)#+ *$/;
const RULE = /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/;
const UNDERLINE = /^ {0,3}(?:=+|-+) *$/;
const QUOTE = /^ {0,3}> ?/;
const COLUMNS = /^ {0,3}\|? *:?-+:? *(?:\| *:?-+:? *)*\|? *$/;
/** The start of a line that may still become any kind of block. */
const UNDECIDED = /^[-+*>#=|:_`~ \t]*(?:\d{1,9}[.)]? *)?(?:\[[ xX]?\]? *)?$/;
const LEADING = /^[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)?/;

export class Markdown {
  /** The root node. Only the last child of each node may still change. */
  readonly root: Node = node("div");
  /** The root, then the open quotes, lists and items. */
  #path: Node[] = [this.root];
  /** The open paragraph, code block or table. */
  #leaf: Node | undefined;
  /** Pending blank lines: they belong to indented code if more code follows. */
  #blank = "";
  #line = "";
  /** Whether the current line was divided: its remainder continues the same block. */
  #isLong = false;
  #undo: (() => void) | undefined;

  /** Parses more text. */
  feed(text: string): void {
    this.#revert();
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      this.#grow(text.slice(from, end));
      this.#complete();
      from = end + 1;
    }
    this.#grow(text.slice(from));
    this.#attempt();
  }

  /** Ends the text. */
  end(): void {
    this.#revert();
    if (this.#line) this.#complete();
  }

  #grow(text: string): void {
    this.#line += text;
    while (this.#line.length > LINE) {
      this.#read(this.#line.slice(0, LINE), false);
      this.#line = this.#line.slice(LINE);
      this.#isLong = true;
    }
  }

  #complete(): void {
    this.#read(this.#line.endsWith("\r") ? this.#line.slice(0, -1) : this.#line, true);
    this.#line = "";
    this.#isLong = false;
  }

  /** Parses the incomplete line as if it were complete. The result can be undone. */
  #attempt(): void {
    const [path, leaf, blank] = [[...this.#path], this.#leaf, this.#blank];
    const ends: [at: Node, length: number, last: Node | undefined, text: string][] = [];
    for (let at: Node | undefined = this.root; at; at = at.kids.at(-1)) {
      ends.push([at, at.kids.length, at.kids.at(-1), at.literal]);
    }
    this.#undo = () => {
      for (const [at, length, last, text] of ends) {
        at.kids.length = length;
        if (last) at.kids[length - 1] = last;
        at.literal = text;
      }
      [this.#path, this.#leaf, this.#blank] = [path, leaf, blank];
    };
    const isDecided = isFence(leaf) ? !/^[ `~]*$/.test(this.#line) : !UNDECIDED.test(this.#line);
    if (isDecided || this.#isLong) this.#read(this.#line, true);
    // A line that looks like the head of a table usually is a head.
    const text = this.#leaf?.kind === "p" ? (this.#leaf.kids[0]?.literal ?? "") : "";
    if (/^\|.+\|.*$/.test(text)) this.#table(text, "");
  }

  #revert(): void {
    this.#undo?.();
    this.#undo = undefined;
  }

  /** `isWhole`: whether the line is complete. */
  #read(line: string, isWhole: boolean): void {
    if (this.#isLong) {
      append(lastBlock(this.root), line);
      return;
    }
    const isRaw = this.#path.length === 1 && isFence(this.#leaf);
    let rest = isRaw ? line : line.replace(LEADING, (start) => start.replaceAll("\t", "    "));
    let depth = 1;
    for (; depth < this.#path.length; depth += 1) {
      const inside = within(this.#path[depth] as Node, rest);
      if (inside === undefined) break;
      rest = inside;
    }
    const isInside = depth === this.#path.length;
    if (isInside && this.#leaf && this.#goesOn(this.#leaf, rest)) return;
    if (BLANK.test(rest)) this.#close(depth);
    else this.#begin(rest, depth, isInside, isWhole);
  }

  /** Adds the line to an open code block. Returns false if the line does not belong to a table. */
  #goesOn(leaf: Node, rest: string): boolean {
    if (leaf.kind !== "pre") return false;
    if (isFence(leaf)) {
      const end = FENCE_END.exec(rest)?.[1] ?? "";
      if (end.length >= leaf.literal.length && end[0] === leaf.literal[0]) this.#leaf = undefined;
      else addLine(leaf, rest.slice(Math.min(leaf.size, indentation(rest))));
      return true;
    }
    if (BLANK.test(rest)) {
      this.#blank += `\n${rest.slice(4)}`;
      return true;
    }
    if (indentation(rest) < 4) return false;
    append(leaf, `${this.#blank}\n${rest.slice(4)}`);
    this.#blank = "";
    return true;
  }

  /** Parses a line that is not blank: the quotes and items that it opens, then its content. */
  #begin(line: string, from: number, isInside: boolean, isWhole: boolean): void {
    let rest = line;
    let depth = from;
    /** The paragraph that this line continues, unless it starts another block. */
    let para = this.#leaf?.kind === "p" ? this.#leaf : undefined;
    let table = this.#leaf?.kind === "table" && isInside ? this.#leaf : undefined;
    for (;;) {
      const isDirect = para && isInside;
      if (indentation(rest) > 3) {
        if (para || table) break;
        append(this.#open(node("pre"), depth), rest.slice(4));
        this.#blank = "";
        return;
      }
      if (isDirect && isWhole && UNDERLINE.test(rest)) {
        this.#replace(node("h3", "", "", rest.includes("=") ? 1 : 2, para?.kids));
        this.#leaf = undefined;
        return;
      }
      if (this.#single(rest, depth, isWhole)) return;
      const quote = this.#path.length < DEPTH && QUOTE.exec(rest);
      if (quote) {
        this.#path.push(this.#open(node("blockquote"), depth));
        rest = rest.slice(quote[0].length);
      } else {
        const content = this.#path.length < DEPTH && this.#item(rest, depth, isDirect);
        if (content === false) break;
        rest = content;
      }
      depth = this.#path.length;
      this.#leaf = para = table = undefined;
      if (BLANK.test(rest)) return;
    }
    rest = rest.slice(indentation(rest));
    if (table) addRow(table, rest);
    else if (!para) append(this.#open(node("p"), depth), rest);
    else if (!isInside || !isWhole || !this.#columns(para, rest)) append(para, `\n${rest}`);
  }

  /** Opens a heading, a rule or a fenced code block. Returns false for another line. */
  #single(rest: string, depth: number, isWhole: boolean): boolean {
    const head = HEAD.exec(rest);
    if (head) {
      const text = rest.slice(head[0].length);
      const block = this.#open(node("h3", "", "", head[1]?.length), depth);
      append(block, isWhole ? text.replace(HEAD_END, "") : text);
      this.#leaf = undefined;
      return true;
    }
    if (isWhole && RULE.test(rest)) {
      this.#open(node("hr"), depth);
      this.#leaf = undefined;
      return true;
    }
    const [, indent, ticks, words] = FENCE.exec(rest) ?? [];
    if (!ticks) return false;
    this.#open(node("pre", ticks, words?.trim(), indent?.length), depth);
    return true;
  }

  /** Opens the item that begins here, and its list. Returns the content of the item's line. */
  #item(rest: string, depth: number, isDirect: boolean | undefined): string | false {
    const [, indent = "", mark = "", space = ""] = ITEM.exec(rest) ?? [];
    if (!mark) return false;
    const width = indent.length + mark.length;
    const isEmpty = BLANK.test(rest.slice(width));
    const first = Number.parseInt(mark, 10);
    const isOrdered = !Number.isNaN(first);
    if (isDirect && (isEmpty || (isOrdered && first !== 1))) return false;
    const size = width + (isEmpty || space.length > 4 ? 1 : space.length);
    const content = rest.slice(size);
    const task = TASK.exec(content);
    const sign = mark.slice(-1);
    this.#path.length = depth;
    if (this.#path.at(-1)?.info !== sign) {
      this.#path.push(this.#open(node(isOrdered ? "ol" : "ul", "", sign, first || 0), depth));
    }
    const item = node("li", "", task ? (task[1] === " " ? "todo" : "done") : "", size);
    this.#path.at(-1)?.kids.push(item);
    this.#path.push(item);
    return content.slice(task?.[0].length ?? 0);
  }

  /** Turns a paragraph's last line into a table's head if this line is a delimiter row. */
  #columns(para: Node, line: string): boolean {
    const run = para.kids.at(-1);
    if (!run || !line.includes("|") || !COLUMNS.test(line)) return false;
    const start = run.literal.lastIndexOf("\n");
    const head = run.literal.slice(start + 1);
    if (cells(head).length !== cells(line).length) return false;
    if (start >= 0) {
      run.literal = run.literal.slice(0, start);
      this.#open(node("p"), this.#path.length);
    }
    this.#table(head, line);
    return true;
  }

  #table(head: string, columns: string): void {
    const aligned = cells(columns).map((cell) => {
      if (!cell.endsWith(":")) return "";
      return cell.startsWith(":") ? "center" : "end";
    });
    const table = node("table", "", aligned.join());
    addRow(table, head);
    this.#replace(table);
    this.#leaf = table;
  }

  /** Closes all blocks below this depth. */
  #close(depth: number): void {
    this.#path.length = depth;
    this.#leaf = undefined;
  }

  #open(block: Node, depth: number): Node {
    this.#close(depth);
    if (/^[ou]l$/.test(this.#path.at(-1)?.kind ?? "")) this.#path.pop();
    this.#path.at(-1)?.kids.push(block);
    this.#leaf = block;
    return block;
  }

  #replace(block: Node): void {
    this.#path.at(-1)?.kids.splice(-1, 1, block);
  }
}

/** The nodes of a complete text. */
export function parse(text: string): Node {
  const markdown = new Markdown();
  markdown.feed(text);
  markdown.end();
  return markdown.root;
}

/** The content of a line that continues an open block. */
function within(block: Node, line: string): string | undefined {
  if (block.kind === "blockquote") {
    const mark = QUOTE.exec(line);
    return mark ? line.slice(mark[0].length) : undefined;
  }
  if (block.kind !== "li") return line;
  if (BLANK.test(line)) return block.kids.length > 0 ? line.slice(block.size) : undefined;
  return indentation(line) >= block.size ? line.slice(block.size) : undefined;
}

function isFence(leaf: Node | undefined): boolean {
  return leaf?.kind === "pre" && !!leaf.literal;
}

function indentation(line: string): number {
  const at = line.search(/[^ ]/);
  return at < 0 ? line.length : at;
}

function append(block: Node, text: string): void {
  const last = block.kids.at(-1);
  let run = last?.kind === "span" ? last : node("span");
  if (run !== last) block.kids.push(run);
  const isCode = block.kind === "pre";
  if (isCode && run.literal.length > RUN && text[0] === "\n") {
    run.literal += "\n";
    block.kids.push(node("span", text.slice(1)));
    return;
  }
  run.literal += text;
  while (!isCode && run.literal.length > RUN) {
    const { literal: text } = run;
    let cut = 1 + Math.max(text.lastIndexOf("\n", RUN - 1), text.lastIndexOf(" ", RUN - 1));
    // Neither a surrogate pair nor an escape is divided.
    if (cut === 0) cut = /[\ud800-\udbff\\]/.test(text[RUN - 1] ?? "") ? RUN - 1 : RUN;
    run.literal = text.slice(0, cut);
    run = node("span", text.slice(cut));
    block.kids.push(run);
  }
}

function addLine(block: Node, line: string): void {
  append(block, block.kids.length > 0 ? `\n${line}` : line);
}

function addRow(table: Node, line: string): void {
  const aligned = table.info.split(",");
  const texts = cells(line);
  const count = table.kids[0]?.kids.length ?? 0;
  while (texts.length < count) texts.push("");
  const kids = texts.map((text, at) => {
    const cell = node(table.kids.length > 0 ? "td" : "th", "", aligned[at]);
    append(cell, text);
    return cell;
  });
  table.kids.push(node("tr", "", "", 0, kids));
}

function cells(line: string): string[] {
  const texts = line.trim().split(/(?<!\\)\|/);
  if (!texts[0]) texts.shift();
  if (!texts.at(-1)) texts.pop();
  return texts.map((text) => text.trim().replaceAll("\\|", "|"));
}

function lastBlock(root: Node): Node {
  let at = root;
  for (let last = at.kids.at(-1); last && last.kind !== "span"; last = at.kids.at(-1)) {
    at = last;
  }
  return at;
}
