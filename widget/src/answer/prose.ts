/**
 * Renders the nodes of `markdown/` as elements. Text becomes text nodes only. Elements of finished
 * nodes are never changed, so a selection in them is kept. An open node keeps its elements until its
 * kind changes.
 */

import { element } from "../open/view/dom.ts";
import { type CopierOf, codeCard, type ProseTexts } from "./code.ts";
import { Markdown } from "./markdown/block.ts";
import { inline } from "./markdown/inline.ts";
import type { Node as Parsed } from "./markdown/node.ts";
import { REL } from "./sources.ts";

/** A rendered node: its element, and the element for its children or its text. */
interface Place {
  readonly node: ChildNode;
  readonly inner: Element | Text;
}

interface Shown extends Place {
  parsed: Parsed;
  readonly kids: Shown[];
  /** The rendered text of a run, and whether the run was still open. */
  source: string;
}

/** A cell of at most this width in characters has one line. Chinese, Japanese and Korean ones count twice. */
const SHORT_CELL = 24;
/** From the radicals of Chinese on, which includes full-width forms; an emoji has two of these units. */
const WIDE = /[\u2e80-\uffef]/g;

/** The lowest bits of a block's number: its position on its page of blocks. */
const PAGE_BITS = 4;

export class Prose {
  readonly #texts: ProseTexts;
  readonly #mayLink: (address: string) => boolean;
  readonly #copierOf: CopierOf | undefined;
  readonly #markdown = new Markdown();
  readonly #shown: Shown;
  readonly #pages: Element[] = [];

  /**
   * `mayLink`: whether an address becomes a link; other addresses are shown as text. `copierOf`
   * returns the Copy button of a code block.
   */
  constructor(
    into: Element,
    texts: ProseTexts,
    mayLink: (address: string) => boolean,
    copierOf?: CopierOf,
  ) {
    this.#mayLink = mayLink;
    this.#texts = texts;
    this.#copierOf = copierOf;
    this.#shown = { parsed: this.#markdown.root, node: into, inner: into, kids: [], source: "" };
  }

  feed(text: string): void {
    this.#markdown.feed(text);
    this.#show(this.#shown, this.#markdown.root, true);
  }

  /** Ends the text: marks that were opened and never closed are shown as written. */
  end(): void {
    this.#markdown.end();
    this.#show(this.#shown, this.#markdown.root, false);
  }

  /** Updates the elements, from the first child that may have changed. */
  #show(shown: Shown, parsed: Parsed, isOpen: boolean): void {
    shown.parsed = parsed;
    if (shown.inner instanceof Text) {
      write(shown.inner, parsed.literal);
      return;
    }
    const kids = parsed.kind === "span" ? read(shown, parsed.literal, isOpen) : parsed.kids;
    let first = Math.max(1, Math.min(shown.kids.length, kids.length)) - 1;
    while (first > 0 && shown.kids[first]?.parsed !== kids[first]) first -= 1;
    // A translator of pages may have put nodes of its own in the place of texts.
    if (shown.kids.slice(first).some(({ inner }) => !inner.parentNode)) {
      shown.inner.replaceChildren();
      first = shown.kids.length = this.#pages.length = 0;
    }
    for (let at = first; at < kids.length; at += 1) {
      this.#put(shown, at, kids[at] as Parsed, isOpen && at === kids.length - 1);
    }
    for (const gone of shown.kids.splice(kids.length)) gone.node.remove();
    if (parsed.kind === "td") {
      const width = (kids[0]?.literal ?? "").replace(WIDE, "$&$&").length;
      shown.inner.classList.toggle("short", width <= SHORT_CELL);
    }
  }

  #put(parent: Shown, at: number, parsed: Parsed, isOpen: boolean): void {
    const before = parent.kids[at];
    const isAlike =
      before?.parsed.kind === parsed.kind &&
      before.parsed.info === parsed.info &&
      before.parsed.size === parsed.size;
    const shown = isAlike
      ? before
      : { parsed, ...this.#place(parsed, parent.parsed), kids: [], source: "" };
    if (!before) this.#into(parent, at).append(shown.node);
    else if (shown !== before) before.node.replaceWith(shown.node);
    parent.kids[at] = shown;
    this.#show(shown, parsed, isOpen);
  }

  /** Groups blocks into pages, so that the browser can skip the layout of pages that are not visible. */
  #into({ parsed, inner }: Shown, at: number): Element {
    if (parsed.kind !== "div") return inner as Element;
    const page = at >> PAGE_BITS;
    this.#pages[page] ??= (inner as Element).appendChild(element("div", { className: "page" }));
    return this.#pages[page];
  }

  #place({ kind, info, size }: Parsed, parent: Parsed): Place {
    const text = document.createTextNode("");
    if (kind === "text" || kind === "mark") return { node: text, inner: text };
    if (kind === "pre") return codeCard(this.#texts, info, this.#copierOf);
    const isText = kind === "a" && !this.#mayLink(info);
    const node = element(isText ? "span" : kind);
    if (kind === "table") {
      // The direction is the scroller's, too: otherwise it would show the last column first.
      const name = { className: "wide", dir: "auto", tabIndex: 0, role: "group" };
      return { node: element("div", { ...name, ariaLabel: this.#texts.table }, node), inner: node };
    }
    // The browser skips elements with their own `dir` when it determines the direction of a parent.
    if (parent.kind === "div") node.dir = "auto";
    if (kind === "code" || parent.kind === "pre") {
      node.append(text);
      return { node, inner: text };
    }
    if (kind === "a" && !isText) {
      Object.assign(node, { href: info, target: "_blank", rel: REL });
    } else if (kind === "ol") (node as HTMLOListElement).start = size;
    else if (kind === "h3") node.className = `h${size}`;
    else if (kind[0] === "t") node.className = info;
    else if (kind === "li" && info) {
      node.className = "task";
      node.append(info === "done" ? "☑ " : "☐ ");
    }
    return { node, inner: node };
  }
}

/** Renders the text of a run, unless it is unchanged. */
function read(shown: Shown, text: string, isOpen: boolean): readonly Parsed[] {
  const source = `${isOpen} ${text}`;
  if (source === shown.source) return shown.kids.map(({ parsed }) => parsed);
  shown.source = source;
  return inline(text, isOpen);
}

/** Updates a text node. Most often the text has only grown. */
function write(node: Text, text: string): void {
  if (text === node.data) return;
  if (text.startsWith(node.data)) node.appendData(text.slice(node.length));
  else node.data = text;
}
