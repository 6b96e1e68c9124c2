import { afterEach, beforeEach, expect, test, vi } from "vitest";
import CHINESE from "../../src/languages/zh-CN.ts";
import { languageOf } from "../../src/languages.ts";
import { chooseTexts, type Options, readOptions } from "../../src/open/options.ts";
import { USABLE as ALLOWED, lookOf } from "../../src/settings.ts";

const complaints: string[] = [];

beforeEach(() => {
  complaints.length = 0;
  vi.spyOn(console, "warn").mockImplementation((complaint) => complaints.push(complaint));
});
afterEach(() => vi.restoreAllMocks());

/** As the loader puts them together. */
function read(attributes: object, config?: unknown): Options {
  const settings = { __proto__: null, ...(config as object), ...attributes };
  return readOptions(settings, CHINESE);
}

test("options: the defaults (W1)", () => {
  expect(read({})).toEqual({
    retries: 3,
    firstByteMs: 5_000,
    stallMs: 10_000,
    title: "在线客服",
    greeting: "您好！请问有什么可以帮您？",
    consent: undefined,
    persist: "session",
    open: false,
  });
  expect(complaints).toEqual([]);
});

const VALUES: readonly (readonly [string, unknown, keyof Options, unknown])[] = [
  ...["0", "1", "2", "3", "4", "5"].map((n) => ["retry", n, "retries", Number(n)] as const),
  ...["abc", "-1", "99", "6", "", "1.5", "٣", "3x"].map((n) => ["retry", n, "retries", 3] as const),
  ["retry", " 2 ", "retries", 2],
  ["firstByteTimeout", "20", "firstByteMs", 20_000],
  ["firstByteTimeout", "0.3", "firstByteMs", 300],
  ["firstByteTimeout", "0", "firstByteMs", 5_000],
  ["firstByteTimeout", "-1", "firstByteMs", 5_000],
  ["firstByteTimeout", "601", "firstByteMs", 5_000],
  ["stallTimeout", "30", "stallMs", 30_000],
  ["stallTimeout", "1e9", "stallMs", 10_000],
  ["stallTimeout", "1e2", "stallMs", 10_000],
  ["title", "  Acme  ", "title", "Acme"],
  ["title", "   ", "title", "在线客服"],
  ["greeting", "<b>Hi</b>", "greeting", "<b>Hi</b>"],
  ["persist", "session", "persist", "session"],
  ["persist", "local", "persist", "local"],
  ["persist", " none ", "persist", "none"],
  ["persist", "", "persist", "session"],
  ["persist", "Local", "persist", "session"],
  ["persist", "cookie", "persist", "session"],
  ["consent", " I agree. ", "consent", "I agree."],
  ["consent", "<b>I</b> agree", "consent", "<b>I</b> agree"],
  ["consent", "  ", "consent", undefined],
  ["open", "", "open", true],
  ["open", "true", "open", true],
  ["open", "false", "open", false],
];

for (const [name, value, option, expected] of VALUES) {
  test(`options: data-${name}=${JSON.stringify(value)} -> ${JSON.stringify(expected)} (W1)`, () => {
    expect(read({ [name]: String(value) })[option]).toEqual(expected);
  });
}

test("options: ChatWidgetConfig is read, and attributes win over it (W1)", () => {
  const config = { retry: 1, title: "Config", open: true, stallTimeout: 20 };
  const options = read({ title: "Attribute" }, config);
  expect(options.title).toBe("Attribute");
  expect([options.retries, options.open, options.stallMs]).toEqual([1, true, 20_000]);
  expect(read({ open: "false" }, config).open).toBe(false);
});

test("options: a text for the visitor's language wins, the longer tag before the shorter one (W28)", () => {
  const settings = () => ({
    greeting: "Hello",
    greetingZh: "您好",
    greetingZhTw: "您好！",
    suggestionsDe: "Versand?|Rückgabe?",
    tipDe: "",
    tip: "Questions?",
  });
  for (const [language, expected] of Object.entries({
    en: { greeting: "Hello", tip: "Questions?" },
    "zh-CN": { greeting: "您好" },
    "zh-TW": { greeting: "您好！" },
    de: { greeting: "Hello", suggestions: "Versand?|Rückgabe?", tip: "" },
  })) {
    const given: Record<string, unknown> = settings();
    chooseTexts(given, language);
    expect(given).toMatchObject(expected);
  }
});

test("options: only own properties of the config count (T27)", () => {
  const inherited = Object.create({ title: "Inherited" });
  expect(read({}, inherited).title).toBe("在线客服");
});

for (const config of [null, 1, "text", [], () => 1, { title: {}, retry: [] }]) {
  test(`options: a strange config changes nothing: ${String(config)} (T27)`, () => {
    expect(read({}, config)).toEqual(read({}));
  });
}

const USABLE = [
  "https://api.example/api/chat",
  "https://api.example:8443/api/chat?x=a@b",
  "http://localhost:8000/api/chat",
  "http://localhost/",
  "http://127.0.0.1:8000/api/chat",
  "http://[::1]:8000/api/chat",
  "http://shop.localhost/api/chat",
];

const UNUSABLE = [
  "",
  "//",
  "https://",
  "http://api.example/api/chat",
  "http://localhost.evil.example/api/chat",
  "http://127.0.0.1.evil.example/",
  "http://localhost@evil.example/",
  "http://evil.example/localhost/",
  "javascript:alert(1)//https://api.example/",
  "ftp://api.example/",
  "data:text/plain,https://api.example/",
  "https://name:secret@api.example/api/chat",
  "https://name@api.example/api/chat",
];

test("settings: a visitor's words go out by https, or to this computer (W1, W15, T23)", () => {
  expect(USABLE.filter((address) => !ALLOWED.test(address))).toEqual([]);
  expect(UNUSABLE.filter((address) => ALLOWED.test(address))).toEqual([]);
});

/** Settings and a language -> texts that the rules contain, and texts that they do not. */
const LOOKS: readonly (readonly [object, string, string, RegExp])[] = [
  [{}, "en", "color-scheme:inherit!important;right:", /accent|left/],
  [{ theme: "dark" }, "en", "color-scheme:dark!", /light/],
  [{ theme: "pink" }, "en", "color-scheme:inherit!", /pink/],
  [{ accent: "#0aF" }, "en", "--kefu-accent:#0aF!important;", /left/],
  [{ accent: "#7c3aed" }, "en", "--kefu-accent:#7c3aed!important;", /left/],
  [{ accent: "red;}*{display:none" }, "en", ":host{color-scheme", /accent|display/],
  [{ accent: "#12345" }, "en", ":host{color-scheme", /accent/],
  [{ accent: 7, theme: {}, position: [] }, "en", "right:", /accent|left/],
  [{}, "ar", "left:", /right/],
  [{}, "AR-eg", "left:", /right/],
  [{}, "he", "left:", /right/],
  [{}, "arn", "right:", /left/],
  [{ position: "bottom-right" }, "ar", "right:", /left/],
  [{ position: "bottom-left" }, "en", "left:", /right/],
  [{ position: "top" }, "en", "right:", /left/],
];

test("settings: accent, theme and corner, or their defaults for invalid values (W1, W9)", () => {
  for (const [settings, language, expected, unexpected] of LOOKS) {
    const look = lookOf({ __proto__: null, ...settings }, language);
    expect(look).toContain(expected);
    expect(look).not.toMatch(unexpected);
  }
});

const LANGUAGES: readonly (readonly [readonly unknown[], string])[] = [
  [["en"], "en"],
  [["EN-us"], "en"],
  [[" zh-CN "], "zh-CN"],
  [["zh"], "zh-CN"],
  [["zh-Hans"], "zh-CN"],
  [["zh-TW"], "zh-TW"],
  [["zh-Hant"], "zh-TW"],
  [["zh_HK"], "zh-TW"],
  [["pt-BR"], "pt"],
  [["ar-EG"], "ar"],
  [["iw"], "he"],
  [["xx", "", undefined, "fr-CA", "en"], "fr"],
  [["constructor", "toString"], "en"],
  [["fil", "dev", "japanese"], "en"],
  [[], "en"],
];

for (const [wanted, expected] of LANGUAGES) {
  test(`languages: ${JSON.stringify(wanted)} -> ${expected} (W9)`, () => {
    expect(languageOf(wanted)).toBe(expected);
  });
}
