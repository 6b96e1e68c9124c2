/** Reads the pages that the service names for an answer. */

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
