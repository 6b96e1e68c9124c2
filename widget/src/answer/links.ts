/** Decides where an answer may link to. */

import type { Source, Sources } from "../open/turn.ts";

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
