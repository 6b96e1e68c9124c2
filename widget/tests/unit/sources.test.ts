/** G25: which pages an answer cites, read from the list behind its text. */

import { expect, test } from "vitest";
import { readSources } from "../../src/view/sources.ts";

const BASE = "https://shop.example/page";

test("the list behind an answer names its sources, and only such a list does", () => {
  const answer = 'Yes [1].\n\n[1]: https://shop.example/a#b "Delivery"\n[12]: /c "Customs"';
  expect(
    readSources(answer, BASE).map(({ number, url, title }) => [number, url?.href, title]),
  ).toEqual([
    ["1", "https://shop.example/a#b", "Delivery"],
    ["12", "https://shop.example/c", "Customs"],
  ]);
  expect(readSources(`${answer}\n\nMore text`, BASE)).toEqual([]);
  expect(readSources("Yes [1].", BASE)).toEqual([]);
});

test("only pages become links: no script, no file, nothing that is no address", () => {
  const list = ["javascript:alert(1)", "data:text/html,x", "file:///etc", "https://[", "#"];
  const answer = list.map((address, at) => `[${at + 1}]: ${address} "x"`).join("\n");
  expect(readSources(answer, BASE).map(({ url }) => url)).toEqual(list.map(() => undefined));
});
