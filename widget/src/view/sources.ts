/**
 * The pages that an answer cites. The service appends them to the answer as Markdown's link
 * definitions, `[1]: https://… "Title"`. Here they become links below the answer, and each `[1]` in
 * its text becomes a link, too.
 */

import { element } from "./dom.ts";

export interface Source {
  readonly number: string;
  readonly url: URL | undefined;
  readonly title: string;
}

const LIST = /(?:(?:^|\n)\[\d{1,3}\]: \S+ "[^"\n]*")+$/;
const ITEM = /\[(\d{1,3})\]: (\S+) "([^"\n]*)"/g;
const REL = "noopener noreferrer nofollow";

/** The sources of an answer, in order. Only http(s) addresses become links. */
export function readSources(answer: string, base: string): readonly Source[] {
  const [list = ""] = LIST.exec(answer.trimEnd()) ?? [];
  return [...list.matchAll(ITEM)].map(([, number = "", address = "", title = ""]) => {
    return { number, url: address === "#" ? undefined : pageUrl(address, base), title };
  });
}

function pageUrl(address: string, base: string): URL | undefined {
  try {
    const url = new URL(address, base);
    return /^https?:$/.test(url.protocol) ? url : undefined;
  } catch {
    return undefined;
  }
}

/** The list below an answer. */
export function sourceList(name: string, sources: readonly Source[]): HTMLElement {
  const items = sources.map(({ number, url, title }) => {
    const children = [
      element("b", { className: "cite", ariaHidden: "true" }, number),
      element("span", { dir: "auto" }, title, element("small", { dir: "ltr" }, placeOf(url))),
    ];
    const link = url
      ? element("a", { href: url.href, target: "_blank", rel: REL }, ...children)
      : element("span", { className: "page" }, ...children);
    return element("li", {}, link);
  });
  return element("ul", { className: "sources", ariaLabel: name }, ...items);
}

/** Removes the list from the text of an answer, and makes links of the numbers in it. */
export function linkNumbers(answer: Element, sources: readonly Source[]): void {
  for (const last of [...answer.querySelectorAll("p")].reverse()) {
    if (!/^\[\d{1,3}\]: /.test(last.textContent ?? "")) break;
    last.remove();
  }
  const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  for (const text of texts) {
    if (!text.parentElement?.closest("a, code, pre"))
      text.replaceWith(...linked(text.data, sources));
  }
}

function linked(text: string, sources: readonly Source[]): (string | Node)[] {
  // With a group in the pattern, every second part is a number with its brackets.
  return text.split(/( ?\[\d{1,3}\])/).map((part, at) => {
    const number = part.replace(/\D/g, "");
    const source = at % 2 ? sources.find((one) => one.number === number) : undefined;
    if (!source) return part;
    const { url, title } = source;
    if (!url) return element("sup", { className: "cite", title }, number);
    const name = { className: "cite", title, ariaLabel: `${number}: ${title}` };
    return element("a", { href: url.href, target: "_blank", rel: REL, ...name }, number);
  });
}

/** Where a page lies, for people: `shop.example › help › delivery`. */
function placeOf(url: URL | undefined): string {
  const parts = url ? [url.host, ...url.pathname.split("/")] : [];
  return parts.filter(Boolean).map(decoded).join(" › ");
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
