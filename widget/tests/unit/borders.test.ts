/** Who may know whom, and who may reach out of the widget. */

import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SOURCES = new URL("../../src/", import.meta.url);

/** Every source by its path, without comments. */
const sources = new Map(
  readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => [path, codeOf(readFileSync(new URL(path, SOURCES), "utf8"))] as const),
);

function codeOf(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}

function filesWith(pattern: RegExp): string[] {
  return [...sources]
    .filter(([, code]) => pattern.test(code))
    .map(([path]) => path)
    .sort();
}

test("machine.ts imports nothing: the table can be read and tested alone", () => {
  expect(sources.get("open/machine.ts")).not.toMatch(/^(import|export .* from)\b/m);
});

const LAYERS = ["open/", "answer/", "features/"];

/** The layer of a source: 0 for the loader. */
function layerOf(path: string): number {
  return LAYERS.findIndex((folder) => path.startsWith(folder)) + 1;
}

test("a layer imports code of earlier layers alone, and a feature no other feature", () => {
  const wrong: string[] = [];
  for (const [path, code] of sources) {
    // all.ts is the loader and the panel in one file.
    if (path === "all.ts" || path.startsWith("languages/")) continue;
    for (const [, found = ""] of code.matchAll(
      /^(?:import|export)(?! type)[^;]*? from "(.+?)"/gm,
    )) {
      const target = new URL(found, new URL(path, SOURCES)).href.slice(SOURCES.href.length);
      const [one, other] = [path, target].map((name) => /^features\/\w+/.exec(name)?.[0]);
      const isOther = one !== undefined && other !== undefined && one !== other;
      if (layerOf(target) > layerOf(path) || isOther) wrong.push(`${path}: ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("requests and files are fetched in few places", () => {
  expect(filesWith(/\bfetch\(|XMLHttpRequest|sendBeacon|WebSocket|EventSource\(/)).toEqual([
    "dictionaries.ts",
    "features/refusal/probe.ts",
    "open/transport/http.ts",
    "renew.ts",
  ]);
});

test("only the loader and the chat that follows it read the page's globals and elements", () => {
  expect(filesWith(/\bwindow\.|globalThis|currentScript|document\.querySelector/)).toEqual([
    "all.ts",
    "loader.ts",
    "open/open.ts",
  ]);
});

test("nothing turns text into markup or code, and nothing listens to messages (W13, T26)", () => {
  const ways = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/;
  expect(filesWith(ways)).toEqual([]);
  expect(filesWith(/["']message["'],\s*\(|postMessage|onmessage/)).toEqual([]);
});

test("views know no request, no storage and no page", () => {
  const inner = [...sources].filter(([path]) => /\/view(\/|\.ts)|\/form\.ts/.test(path));
  expect(inner.length).toBeGreaterThan(10);
  const outside = /from "[./]+\/(transport\/\w+|store|owner|loader|open|widget|handle)\.ts"/;
  expect(inner.filter(([, code]) => outside.test(code)).map(([path]) => path)).toEqual([]);
});
