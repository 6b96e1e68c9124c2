/** What is translated is in the language's own script and words; Chinese is complete (W9). */

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { dictionaries, english } from "../../build.mjs";
import { languageOf } from "../../src/languages.ts";
import { RTL } from "../../src/settings.ts";

type AllTexts = Awaited<ReturnType<typeof english>>;

const CHANGES = readFileSync(new URL("../../../CHANGELOG.md", import.meta.url), "utf8");
/** Until a release, a new text of a feature may be in English. */
const isReleased = !/^## \[.*\] - unreleased$/m.test(CHANGES);

/** The script that every text of a language is written in; a few words are the same everywhere. */
const SCRIPTS: Readonly<Record<string, RegExp>> = {
  ar: /\p{Script=Arabic}/u,
  he: /\p{Script=Hebrew}/u,
  ja: /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u,
  ko: /\p{Script=Hangul}/u,
  ru: /\p{Script=Cyrillic}/u,
  "zh-CN": /\p{Script=Han}/u,
  "zh-TW": /\p{Script=Han}/u,
};

/** Words that are written as in English, by language. */
const SAME: Readonly<Record<string, readonly string[]>> = {
  fr: ["code", "messages", "sources"],
  de: ["code"],
};

/** Characters that one of the two Chinese scripts has and the other has not. */
const SIMPLIFIED = /[们开关闭话记录输问题这样发复获线断网络将请读务应误试级续连达结击]/u;
const TRADITIONAL = /[們開關閉話記錄輸問題這樣發復獲線斷網絡將請讀務應誤試級續連達結擊]/u;

/** Text by its key, those of endings too. */
function flat(texts: AllTexts): Readonly<Record<string, string>> {
  const { endings, lang, ...rest } = texts;
  return { ...rest, ...(endings as object) } as Readonly<Record<string, string>>;
}

const ENGLISH = await english();
const all = new Map<string, AllTexts>([["en", ENGLISH]]);
for (const [language, texts] of await dictionaries()) {
  all.set(language, texts);
}

test("there are at least twelve languages besides English, and the widget can choose each (W9)", () => {
  expect(all.size).toBeGreaterThanOrEqual(13);
  for (const language of all.keys()) expect(languageOf(["xx", language])).toBe(language);
  expect([...all.keys()].filter((language) => RTL.test(language)).sort()).toEqual(["ar", "he"]);
});

describe.each([...all.keys()])("%s", (language) => {
  test("has every text if it is Chinese or at a release, and says which language it is (W9)", () => {
    const texts = all.get(language) as AllTexts;
    expect(texts.lang).toBe(language);
    const names = Object.keys(flat(texts)).sort();
    const wanted = Object.keys(flat(ENGLISH)).sort();
    if (isReleased || language.startsWith("zh")) expect(names).toEqual(wanted);
    expect(names.filter((name) => !wanted.includes(name))).toEqual([]);
    expect(Object.keys(texts.endings as object)).toEqual(Object.keys(ENGLISH.endings as object));
    const empty = Object.entries(flat(texts)).filter(([, text]) => text.trim() === "");
    expect(empty).toEqual([]);
  });

  test("is not English, nor another's words: in its own script, with its own marks (W9)", () => {
    const texts = flat(all.get(language) as AllTexts);
    const english = flat(ENGLISH);
    if (language !== "en") {
      const same = Object.keys(texts).filter((key) => texts[key] === english[key]);
      expect(same.filter((key) => !SAME[language]?.includes(key))).toEqual([]);
    }
    const script = SCRIPTS[language] ?? /\p{Script=Latin}/u;
    expect(Object.values(texts).filter((text) => !script.test(text))).toEqual([]);
    const open = Object.entries(texts).filter(([key]) =>
      /^(connecting|thinking|answering|placeholder)$/.test(key),
    );
    expect(open.filter(([, text]) => !text.endsWith("…") && language !== "ja")).toEqual([]);
    const troubles = Object.keys(ENGLISH.endings as object).filter(
      (key) => key !== "whole" && key !== "stopped",
    );
    for (const key of troubles) expect(texts[key]).toMatch(/[.。]$/);
  });

  test("repeats no text where English has two (W9)", () => {
    const texts = flat(all.get(language) as AllTexts);
    const said = Object.keys(texts).filter((key) => key !== "title" && key !== "messages");
    expect(new Set(said.map((key) => texts[key])).size).toBe(said.length);
  });
});

test("traditional Chinese has no simplified characters, and the other way round (W9)", () => {
  const of = (language: string): string =>
    Object.values(flat(all.get(language) as AllTexts)).join("");
  const shared = new Set([..."问题"].filter((c) => TRADITIONAL.test(c)));
  expect(
    [...of("zh-TW")].filter((c) => SIMPLIFIED.test(c) && !TRADITIONAL.test(c) && !shared.has(c)),
  ).toEqual([]);
  expect([...of("zh-CN")].filter((c) => TRADITIONAL.test(c) && !SIMPLIFIED.test(c))).toEqual([]);
});

test("a text has the places of names and numbers that the English text has (H4, A14)", () => {
  const placesOf = (text: string | undefined): readonly string[] =>
    [...(text ?? "").matchAll(/\{\w+\}/g)].map(([place]) => place);
  const english = flat(ENGLISH);
  expect(Object.values(english).flatMap(placesOf).length).toBeGreaterThan(5);
  for (const [language, texts] of all) {
    for (const [name, text] of Object.entries(flat(texts))) {
      expect([language, name, placesOf(text)]).toEqual([language, name, placesOf(english[name])]);
    }
  }
});

test("no dictionary holds markup or an address: it is text and nothing else (W13)", () => {
  for (const texts of all.values()) {
    expect(Object.values(flat(texts)).join()).not.toMatch(/[<>]|https?:/);
  }
});
