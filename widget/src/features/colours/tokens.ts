/** Finds comments, strings, numbers and words of the language in a program, for the eye, not for a compiler. */

export type TokenKind = "comment" | "string" | "number" | "keyword";

export interface Token {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
}

/** How a comment begins that goes to the end of its line; by default `//`. */
const LINE_COMMENTS: readonly (readonly [language: RegExp, begin: string])[] = [
  [
    /^(py|python|sh|bash|zsh|shell|console|ya?ml|toml|ini|conf|rb|ruby|r|perl|dockerfile|make)/i,
    "(?<![^\\s;])#",
  ],
  [/^(sql|lua|haskell)/i, "--"],
  // These have none.
  [/^(html|xml|svg|css|json$)/i, "(?!)"],
];

/** Words of the languages that answers have most often. */
const KEYWORDS = new Set(
  (
    "abstract and as assert async await begin bool boolean break case catch char class const continue def default" +
    " defer del delete do done double elif else end enum esac except export extends extern false False fi final" +
    " finally float fn for foreach from func function global go goto if impl implements import in include instanceof" +
    " int interface is lambda let long loop match mod module mut namespace new nil None nonlocal not null or package" +
    " pass private protected public raise require return self short static string struct super switch then this" +
    " throw trait True true try type typeof undefined unless unsafe until use using val var virtual void when where" +
    " while with yield"
  ).split(" "),
);

/** Of SQL, in any case. */
const SQL =
  /^(add|all|alter|and|as|asc|between|by|case|create|delete|desc|distinct|drop|else|end|exists|from|group|having|in|index|inner|insert|into|is|join|key|left|like|limit|not|null|offset|on|or|order|outer|primary|references|right|select|set|table|then|union|unique|update|values|view|when|where|with)$/i;

/** In linear time: what is never closed goes to the end of its line or of the code. */
function syntaxOf(comment: string): RegExp {
  return new RegExp(
    [
      `(${comment}[^\\n]*|/\\*[^]*?(?:\\*/|$)|<!--[^]*?(?:-->|$))`,
      `("(?:[^"\\\\\\n]|\\\\.)*"?|'(?:[^'\\\\\\n]|\\\\.)*'?|\`(?:[^\`\\\\]|\\\\[^])*\`?)`,
      "((?<![\\w.])\\d[\\w.]*)",
      "([A-Za-z_]\\w*)",
    ].join("|"),
    "g",
  );
}

/** Whether a string ends with its quote: an apostrophe in words begins none. */
function isClosed(text: string): boolean {
  return text.length > 1 && text.endsWith(text.charAt(0));
}

/** The tokens of `code` in order, without those that have no colour. `language` as the answer names it. */
export function tokensOf(code: string, language: string): readonly Token[] {
  const [, comment = "//"] = LINE_COMMENTS.find(([names]) => names.test(language)) ?? [];
  const isSql = /^sql/i.test(language);
  const isMarkup = /^(html|xml|svg)/i.test(language);
  const tokens: Token[] = [];
  for (const found of code.matchAll(syntaxOf(comment))) {
    const [text, isComment, isString, isNumber] = found;
    const start = found.index;
    const isWord = isSql ? SQL.test(text) : KEYWORDS.has(text);
    // The name of an element follows its bracket.
    const isKeyword = isMarkup ? /<\/?$/.test(code.slice(Math.max(0, start - 2), start)) : isWord;
    const kind = isComment
      ? "comment"
      : isString
        ? isClosed(text) && "string"
        : isNumber
          ? "number"
          : isKeyword && "keyword";
    if (kind) tokens.push({ kind, start, end: start + text.length });
  }
  return tokens;
}
