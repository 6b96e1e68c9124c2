/**
 * The pages that an answer cites, as the service names them beside the text. The pages are links
 * below the answer, and each `[1]` in its text becomes a link, too.
 */

import type { Sources } from "../open/turn.ts";
import { element } from "../open/view/dom.ts";

/** A source for display: only http(s) addresses become links. */
export interface Shown {
  readonly number: number;
  readonly url: URL | undefined;
  readonly title: string;
}

/** Of each link in an answer. */
export const REL = "noopener noreferrer nofollow";

/** The sources that an answer cites, in order. */
export function citedOf(sources: Sources | undefined, base: string): readonly Shown[] {
  return (sources?.pages ?? [])
    .filter(({ number }) => sources?.cited.includes(number))
    .map(({ number, title, url }) => ({
      number,
      title,
      url: url ? pageUrl(url, base) : undefined,
    }));
}

/** The text of an answer to copy, with its sources as Markdown's link definitions. */
export function withSources(answer: string, sources: readonly Shown[]): string {
  const lines = sources.map(({ number, url, title }) => `[${number}]: ${url ?? "#"} "${title}"`);
  return [answer, lines.join("\n")].filter(Boolean).join("\n\n");
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
export function sourceList(name: string, sources: readonly Shown[]): HTMLElement {
  const items = sources.map(({ number, url, title }) => {
    const children = [
      element("b", { className: "cite", ariaHidden: "true" }, `${number}`),
      element("span", { dir: "auto" }, title, element("small", { dir: "ltr" }, placeOf(url))),
    ];
    const link = url
      ? element("a", { href: url.href, target: "_blank", rel: REL }, ...children)
      : element("span", { className: "page" }, ...children);
    return element("li", {}, link);
  });
  return element("ul", { className: "sources", ariaLabel: name }, ...items);
}

/** Makes links of the numbers in the text of an answer. */
export function linkNumbers(answer: Element, sources: readonly Shown[]): void {
  const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  for (const text of texts) {
    if (!text.parentElement?.closest("a, code, pre"))
      text.replaceWith(...linked(text.data, sources));
  }
}

function linked(text: string, sources: readonly Shown[]): (string | Node)[] {
  // With a group in the pattern, every second part is a number with its brackets.
  return text.split(/( ?\[\d{1,3}\])/).map((part, at) => {
    const number = part.replace(/\D/g, "");
    const source = at % 2 ? sources.find((one) => `${one.number}` === number) : undefined;
    if (!source) return part;
    const { url, title } = source;
    if (!url) return element("sup", { className: "cite", title }, number);
    const name = { className: "cite", title, ariaLabel: `${number}: ${title}` };
    return element("a", { href: url.href, target: "_blank", rel: REL, ...name }, number);
  });
}

/** The place of a page, for people: `shop.example › help › delivery`. */
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
