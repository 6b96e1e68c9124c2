/** Reads the pages that the service names for an answer, and decides where the answer may link to. */

import { own } from "./own.ts";
import type { Source, Sources } from "./turn.ts";

/** Undefined if there is no list of pages. Invalid entries are left out. */
export function sourcesOf(pages: unknown, links: unknown, cited: unknown): Sources | undefined {
  if (!Array.isArray(pages)) return undefined;
  return {
    pages: pages.flatMap(sourceOf),
    links: listOf(links).map(String),
    cited: listOf(cited).map(Number),
  };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function sourceOf(value: unknown): Source[] {
  const [number, title, url] = ["number", "title", "url"].map((name) => own(value, name));
  return typeof number === "number" && typeof title === "string" && typeof url === "string"
    ? [{ number, title, url }]
    : [];
}

/** Whether an answer may link to `address`. */
export function mayLink(address: string, sources: Sources | undefined): boolean {
  if (!sources) return true;
  try {
    const { origin, href } = new URL(address);
    const isSame = ({ url }: Source): boolean => bare(url) === bare(href);
    const isBelow = (link: string): boolean =>
      bare(href) === bare(link) || href.startsWith(`${bare(link)}/`);
    return origin === location.origin || sources.pages.some(isSame) || sources.links.some(isBelow);
  } catch {
    return false;
  }
}

/** An address for comparisons, without fragment and without a slash at the end. */
function bare(address: string): string {
  return address.replace(/\/?(#.*)?$/, "");
}
