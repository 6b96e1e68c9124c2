/** The npm package, compared with the widget that it puts into a page. */

import { readFileSync } from "node:fs";
import { expect, expectTypeOf, test } from "vitest";
import * as kefuChat from "../../npm/index.js";
import { KNOWN } from "../../src/answer/attributes.ts";
import type { ChatWidget, EventDetails } from "../../src/handle.ts";

const PACKAGE = new URL("../../npm/", import.meta.url);

const read = (path: string): string => readFileSync(new URL(path, PACKAGE), "utf8");

test("the package has the version of the service", () => {
  const versions = ["package.json", "../package.json"].map(
    (path) => JSON.parse(read(path)).version,
  );
  const [, service] = /"(.+)"/.exec(read("../../functions/kefu/__init__.py")) ?? [];
  expect(versions).toEqual([service, service]);
});

test("its settings are the attributes of the tag, and three of the tag itself", () => {
  const [, settings = ""] =
    /interface ChatSettings extends TextsByLanguage \{(.*?)\n\}/s.exec(read("index.d.ts")) ?? [];
  const names = [...settings.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name]) => name);
  expect(names.sort()).toEqual([...KNOWN, "src", "integrity", "nonce"].sort());
});

test("its types of the widget and of the events are those of the source", () => {
  expectTypeOf<kefuChat.ChatWidget>().toEqualTypeOf<ChatWidget>();
  expectTypeOf<kefuChat.EventDetails>().toEqualTypeOf<EventDetails>();
});

test("it can be imported where there is no window, as on a server", () => {
  expect(Object.keys(kefuChat)).toEqual(["startChat"]);
});
