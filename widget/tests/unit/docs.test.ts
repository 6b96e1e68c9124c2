/** The promises of docs/widget.md and docs/widget-look.md, compared with the source. */

import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { NAMES, namesRead, PAGE, pageWithTable } from "../../docs.mjs";

const page = readFileSync(PAGE, "utf8");
const look = readFileSync(new URL("widget-look.md", PAGE), "utf8");
const SOURCES = new URL("../../src/", import.meta.url);
const source = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
  .filter((path) => /\.(ts|css)$/.test(path))
  .map((path) => readFileSync(new URL(path, SOURCES), "utf8"));

/** The matches in the text, without duplicates, in order. */
function all(text: string, pattern: RegExp): string[] {
  return [
    ...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? "")),
  ].sort();
}

test("the table of attributes matches the source: make docs", async () => {
  expect(page).toBe(await pageWithTable());
});

test("the table names every attribute that is read, and no other", async () => {
  expect([...NAMES].sort()).toEqual((await namesRead()).sort());
});

test("the page names every custom property a site may set, and no other", () => {
  const pattern = /(--kefu-[a-z][\w-]*)/g;
  expect(all(page + look, pattern)).toEqual(all(source.join("\n"), pattern));
});

test("the page names every part a site may style, and no other", () => {
  const listed = look.slice(look.indexOf("`kefu-chat::part(")).split("\n\n")[0] ?? "";
  const parts = all(source.join("\n"), /\bpart: "([\w-]+)"|unknown }\)\.part = [\w.]+ = "(\w+)"/g);
  expect(all(listed.slice(listed.indexOf(":\n")), /`([a-z-]+)`/g)).toEqual(parts);
});

test("the page names every event and every method of ChatWidget, and no other", () => {
  const handle = readFileSync(new URL("handle.ts", SOURCES), "utf8");
  const [, details = ""] = handle.split("interface EventDetails {");
  const methods = ["interface Acts {", "interface ChatWidget extends Acts {"].map(
    (start) => handle.split(start)[1]?.split("\n}")[0],
  );
  const section = page.split("## From your own scripts")[1]?.split("\n## ")[0] ?? "";
  const [ofMethods = "", ofEvents = ""] = section.split("| Event | Detail |");
  const rows = (text: string): string => text.replace(/^(?!\| `).*$/gm, "");
  expect(all(rows(ofEvents).replace(/^(.*?) \| .*$/gm, "$1"), /`(\w+)`/g)).toEqual(
    all(details.split("\n}")[0] ?? "", /^ {2}readonly (\w+):/gm),
  );
  expect(all(rows(ofMethods).replace(/^(.*?) \| .*$/gm, "$1"), /`(\w+)\(/g)).toEqual(
    all(methods.join("\n"), /^ {2}(\w+)[(<]/gm),
  );
});
