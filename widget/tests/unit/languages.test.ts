/** Every language says everything, in its own script and its own words (W9). */

import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { ENGLISH as ANSWER_TEXTS } from "../../src/answer/english.ts";
import { COMMENT_TEXTS, type CommentTexts } from "../../src/features/comment/texts.ts";
import { CONTACT_TEXTS, type ContactTexts } from "../../src/features/contact/texts.ts";
import { TALK_TEXTS, type TalkTexts } from "../../src/features/talk/texts.ts";
import type { ToolTexts } from "../../src/features/tools/english.ts";
import { TOOL_TEXTS } from "../../src/features/tools/texts.ts";
import { languageOf } from "../../src/languages.ts";
import { type Dictionary, ENGLISH as TEXTS } from "../../src/open/english.ts";
import { RTL } from "../../src/settings.ts";

const FOLDER = new URL("../../src/languages/", import.meta.url);
type AllTexts = Dictionary & CommentTexts & ContactTexts & TalkTexts & ToolTexts;

/** The texts of the further files, in one language. */
function furtherTexts(language: string): object {
  return {
    ...COMMENT_TEXTS[language],
    ...CONTACT_TEXTS[language],
    ...TALK_TEXTS[language],
    ...TOOL_TEXTS[language],
  };
}

const ENGLISH = { ...TEXTS, ...ANSWER_TEXTS, ...furtherTexts("en") } as AllTexts;
const LANGUAGES = readdirSync(FOLDER).map((name) => name.replace(".ts", ""));

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
  return { ...rest, ...endings };
}

const all = new Map<string, AllTexts>([["en", ENGLISH]]);
beforeAll(async () => {
  for (const language of LANGUAGES) {
    const module = await import(new URL(`${language}.ts`, FOLDER).href);
    all.set(language, { ...module.default, ...furtherTexts(language) });
  }
});

test("there are at least twelve languages besides English, and the widget can choose each (W9)", () => {
  expect(all.size).toBeGreaterThanOrEqual(13);
  for (const language of all.keys()) expect(languageOf(["xx", language])).toBe(language);
  expect([...all.keys()].filter((language) => RTL.test(language)).sort()).toEqual(["ar", "he"]);
});

describe.each([...LANGUAGES, "en"])("%s", (language) => {
  test("has every text, and says which language it is (W9)", () => {
    const texts = all.get(language) as AllTexts;
    expect(texts.lang).toBe(language);
    expect(Object.keys(flat(texts)).sort()).toEqual(Object.keys(flat(ENGLISH)).sort());
    expect(Object.keys(texts.endings).sort()).toEqual(Object.keys(ENGLISH.endings).sort());
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
    const troubles = Object.keys(ENGLISH.endings).filter(
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

test("the texts about a person have the place of the name where the English ones have it (H4)", () => {
  const named = (texts: TalkTexts): string[] =>
    Object.entries(texts).flatMap(([key, text]) =>
      text.split("{name}").length === 2 ? [key] : [],
    );
  for (const texts of Object.values(TALK_TEXTS)) {
    expect(named(texts)).toEqual(["joined", "ended", "answers", "wrote"]);
  }
});

test("the line about several steps has the place of their number in each language (A14)", () => {
  for (const { lookedUp } of Object.values(TOOL_TEXTS)) {
    expect(lookedUp.split("{n}")).toHaveLength(2);
  }
});

test("no dictionary holds markup or an address: it is text and nothing else (W13)", () => {
  for (const language of LANGUAGES) {
    const source = readFileSync(new URL(`${language}.ts`, FOLDER), "utf8");
    expect(Object.values(furtherTexts(language)).join()).not.toMatch(/[<>]|https?:/);
    expect(source).not.toMatch(/[<>]|https?:/);
  }
});
