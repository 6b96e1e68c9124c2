import { beforeEach, expect, test } from "vitest";
import { type Attributes, type Options, readOptions } from "../../src/options.ts";

const PAGE = { url: "https://shop.example/contact?x=1", languages: ["fr-FR", "zh-TW"] };
const API = { apiUrl: "https://api.example/api/chat" };

const complaints: string[] = [];
const warn = (complaint: string): void => {
  complaints.push(complaint);
};

beforeEach(() => {
  complaints.length = 0;
});

function read(attributes: Attributes, config?: unknown): Options {
  const options = readOptions({ ...API, ...attributes }, config, PAGE, warn);
  if (typeof options === "string") throw new Error(options);
  return options;
}

test("options: the defaults (W1)", () => {
  expect(read({})).toEqual({
    apiUrl: new URL("https://api.example/api/chat"),
    retries: 3,
    firstByteMs: 5_000,
    stallMs: 10_000,
    language: "zh-CN",
    title: "在线客服",
    greeting: "您好！请问有什么可以帮您？",
    suggestions: [],
    consent: undefined,
    persist: "session",
    accent: undefined,
    theme: "auto",
    position: "auto",
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
  ["lang", "en", "language", "en"],
  ["lang", "EN-us", "language", "en"],
  ["lang", "zh-CN", "language", "zh-CN"],
  ["lang", "xx", "language", "zh-CN"],
  ["title", "  Acme  ", "title", "Acme"],
  ["title", "   ", "title", "在线客服"],
  ["greeting", "<b>Hi</b>", "greeting", "<b>Hi</b>"],
  ["accent", "#0aF", "accent", "#0aF"],
  ["accent", "#7c3aed", "accent", "#7c3aed"],
  ["accent", "red;}*{display:none", "accent", undefined],
  ["accent", "#12345", "accent", undefined],
  ["theme", "dark", "theme", "dark"],
  ["theme", "pink", "theme", "auto"],
  ["position", "bottom-left", "position", "bottom-left"],
  ["position", "top", "position", "auto"],
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

const LONG = "长".repeat(81);

/** data-suggestions -> what is offered, and whether the owner is told of something wrong. */
const SUGGESTIONS: readonly (readonly [unknown, readonly string[], boolean])[] = [
  ["", [], false],
  ["  ", [], false],
  ["[]", [], false],
  ["One", ["One"], false],
  [" One? | Two ", ["One?", "Two"], false],
  ['["One", " Two | half "]', ["One", "Two | half"], false],
  [' ["<b>One</b>"]', ["<b>One</b>"], false],
  [["One", "Two"], ["One", "Two"], false],
  ["1|2|3|4|5|6", ["1", "2", "3", "4", "5", "6"], false],
  [LONG.slice(1), [LONG.slice(1)], false],
  ["1|2|3|4|5|6|7|8", ["1", "2", "3", "4", "5", "6"], true],
  [`One|${LONG}|Two`, ["One", "Two"], true],
  ["One||Two|", ["One", "Two"], true],
  ['["One", 2, null, ["Two"], {}, "Three"]', ["One", "Three"], true],
  ['["One", "Two"', [], true],
  ["[One|Two]", [], true],
  [{ one: "One" }, [], true],
  [7, [], true],
];

for (const [value, expected, isWrong] of SUGGESTIONS) {
  const shown = JSON.stringify(value).slice(0, 60);
  test(`options: data-suggestions=${shown} -> ${expected.length}${isWrong ? ", one warning" : ""} (W1)`, () => {
    expect(read({}, { suggestions: value }).suggestions).toEqual(expected);
    if (typeof value === "string") {
      expect(read({ suggestions: value }).suggestions).toEqual(expected);
      expect(complaints.splice(1)).toHaveLength(isWrong ? 1 : 0);
    }
    expect(complaints).toHaveLength(isWrong ? 1 : 0);
  });
}

test("options: ChatWidgetConfig is read, and attributes win over it (W1)", () => {
  const config = { retry: 1, title: "Config", open: true, stallTimeout: 20 };
  const options = read({ title: "Attribute" }, config);
  expect(options.title).toBe("Attribute");
  expect([options.retries, options.open, options.stallMs]).toEqual([1, true, 20_000]);
  expect(read({ open: "false" }, config).open).toBe(false);
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

const GOOD = [
  ["https://api.example/api/chat", "https://api.example/api/chat"],
  ["/api/chat", "https://shop.example/api/chat"],
  ["http://localhost:8000/api/chat", "http://localhost:8000/api/chat"],
  ["http://127.0.0.1:8000/api/chat", "http://127.0.0.1:8000/api/chat"],
  ["http://[::1]:8000/api/chat", "http://[::1]:8000/api/chat"],
  ["http://shop.localhost/api/chat", "http://shop.localhost/api/chat"],
] as const;

for (const [value, href] of GOOD) {
  test(`options: data-api-url ${value} is taken (W1)`, () => {
    expect(read({ apiUrl: value }).apiUrl.href).toBe(href);
  });
}

const BAD = [
  "",
  "http://api.example/api/chat",
  "http://localhost.evil.example/api/chat",
  "http://127.0.0.1.evil.example/",
  "javascript:alert(1)",
  "ftp://api.example/",
  "data:text/plain,hi",
  "https://",
  "https://name:secret@api.example/api/chat",
];

for (const value of BAD) {
  test(`options: data-api-url ${JSON.stringify(value)} is refused with a reason (W15, T23)`, () => {
    const reason = readOptions({ apiUrl: value }, undefined, PAGE, warn);
    expect(reason).toMatch(/^data-api-url /);
    expect(reason).not.toContain("secret");
  });
}

test("options: without data-api-url there is a reason, not a widget (W15)", () => {
  expect(readOptions({}, undefined, PAGE, warn)).toMatch(/^data-api-url is missing/);
});
