/** The nodes of Markdown, written as HTML in this file. */

import { marked } from "marked";
import { expect, test } from "vitest";
import { Markdown, parse } from "../../src/answer/markdown/block.ts";
import { inline } from "../../src/answer/markdown/inline.ts";
import type { Node } from "../../src/answer/markdown/node.ts";

function html({ kind, kids, literal, info, size }: Node): string {
  if (kind === "pre")
    return `<pre${info && ` ${info}`}>${kids.map((run) => run.literal).join("")}</pre>`;
  const inside = (kind === "span" ? inline(literal, false) : kids).map(html).join("");
  if (kind === "text") return literal;
  if (kind === "div" || kind === "span") return inside;
  if (kind === "h3") return `<h${size}>${inside}</h${size}>`;
  if (kind === "code") return `<code>${literal}</code>`;
  if (kind === "br" || kind === "hr") return `<${kind}>`;
  const said = kind === "ol" ? `${size}` : kind === "ul" ? "" : info;
  return `<${kind}${said && ` ${said}`}>${inside}</${kind}>`;
}

/** The visible text, without spaces. */
function words({ kind, kids, literal }: Node): string {
  if (kind === "pre") return kids.map((run) => run.literal.replace(/\s+/g, "")).join("");
  const inside = kind === "span" ? inline(literal, false) : kids;
  const own = inside.length === 0 ? literal : "";
  return `${own}${inside.map(words).join("")}`.replace(/\s+/g, "");
}

const CASES: Readonly<Record<string, string>> = {
  // Blocks.
  "# One #\n###### Six": "<h1>One</h1><h6>Six</h6>",
  "#No": "<p>#No</p>",
  "Big\n===\nSmall\n---": "<h1>Big</h1><h2>Small</h2>",
  "a\nb\n\nc": "<p>a\nb</p><p>c</p>",
  "a  \nb\\\nc<br>d": "<p>a<br>b<br>c<br>d</p>",
  "---\n***\n- - -": "<hr><hr><hr>",
  "> a\n> > b\nlazy\n\nc":
    "<blockquote><p>a</p><blockquote><p>b\nlazy</p></blockquote></blockquote><p>c</p>",
  "- a\n- b\n  - c\n\n    d\n* e":
    "<ul><li><p>a</p></li><li><p>b</p><ul><li><p>c</p><p>d</p></li></ul></li></ul><ul><li><p>e</p></li></ul>",
  "3. a\n4. b\n1) c": "<ol 3><li><p>a</p></li><li><p>b</p></li></ol><ol 1><li><p>c</p></li></ol>",
  "a\n2. b\n1. c": "<p>a\n2. b</p><ol 1><li><p>c</p></li></ol>",
  "-\ta\n\n-\n\n  b": "<ul><li><p>a</p></li><li></li></ul><p>b</p>",
  "- [ ] a\n- [x] b\n- [ ]":
    "<ul><li todo><p>a</p></li><li done><p>b</p></li><li><p>[ ]</p></li></ul>",
  "```js\na  \n\n  <b>*\n````\nc": "<pre js>a  \n\n  <b>*</pre><p>c</p>",
  "~~~\n```\n~~~": "<pre>```</pre>",
  "- ```\n  a\n b": "<ul><li><pre>a</pre></li></ul><p>b</p>",
  "```\nno end": "<pre>no end</pre>",
  "a\n\n    code\n\n      more\n\nb": "<p>a</p><pre>code\n\n  more</pre><p>b</p>",
  "|a|b|\n|:-:|--:|\n|1|\n|`x\\|y`|2|3|\n\nc":
    "<table center,end><tr><th center>a</th><th end>b</th></tr><tr><td center>1</td><td end></td></tr>" +
    "<tr><td center><code>x|y</code></td><td end>2</td><td>3</td></tr></table><p>c</p>",
  "x\na | b\n--|--\n1 | 2\n# h":
    "<p>x</p><table ,><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><h1>h</h1>",
  "a | b\n---": "<h2>a | b</h2>",
  // Inside a line.
  "*a* _b_ **c** __d__ ***e*** ~~f~~ ~g~":
    "<p><em>a</em> <em>b</em> <strong>c</strong> <strong>d</strong> <em><strong>e</strong></em> <del>f</del> ~g~</p>",
  "snake_case_name 2 * 3 * 4 **a": "<p>snake_case_name 2 * 3 * 4 **a</p>",
  "*a **b** c* **a *b* c**":
    "<p><em>a <strong>b</strong> c</em> <strong>a <em>b</em> c</strong></p>",
  "**foo*bar**": "<p><strong>foo*bar</strong></p>",
  "**注意：**请看**“表”**。": "<p><strong>注意：</strong>请看<strong>“表”</strong>。</p>",
  "`a` ``b`c`` ` d ` `e": "<p><code>a</code> <code>b`c</code> <code>d</code> `e</p>",
  "`*a*` *`b*`": "<p><code>*a*</code> *<code>b*</code></p>",
  "\\*a\\* &amp; &#60;&#x41; &unknown; \\a": "<p>*a* & <A &unknown; \\a</p>",
  "<b onclick=x>*a*</b> <!-- c -->": "<p><b onclick=x><em>a</em></b> <!-- c --></p>",
  // Formulas.
  "\\(a_1 \\, *b* \\\\ c_2\\) *d*": "<p>\\(a_1 \\, *b* \\\\ c_2\\) <em>d</em></p>",
  "$$x_1\n\\{*y*\\}$$ \\[z_2\\]": "<p>$$x_1\n\\{*y*\\}$$ \\[z_2\\]</p>",
  "$a_1 * b_1 * \\{2\\}$ and $x$: $5 *and* $6, \\$7":
    "<p>$a_1 * b_1 * \\{2\\}$ and $x$: $5 <em>and</em> $6, $7</p>",
  "\\(no end *a* \\[b $$": "<p>(no end <em>a</em> [b $$</p>",
  // Links.
  '[a *b*](https://c.d "t") [m](mailto:a@b.c) [t](tel:+1)':
    "<p><a https://c.d>a <em>b</em></a> <a mailto:a@b.c>m</a> <a tel:+1>t</a></p>",
  "[a](https://b.c/d_(e)) [f](<https://g.h/i j>)":
    "<p><a https://b.c/d_(e)>a</a> <a https://g.h/i j>f</a></p>",
  "![p](https://x.y/z.png) [![q](https://x.y/1)](https://x.y/2) ![](https://x.y)":
    "<p><a https://x.y/z.png>p</a> <a https://x.y/2>q</a> <a https://x.y>https://x.y</a></p>",
  "<https://a.b> https://c.d/e?f=g. (https://h.i) https://j.k。":
    "<p><a https://a.b>https://a.b</a> <a https://c.d/e?f=g>https://c.d/e?f=g</a>. " +
    "(<a https://h.i>https://h.i</a>) <a https://j.k>https://j.k</a>。</p>",
  "[x](javascript:alert(1)) [y](/z) [d](data:text/html,x) [v](vbscript:x) [1] [a][b]":
    "<p>[x](javascript:alert(1)) [y](/z) [d](data:text/html,x) [v](vbscript:x) [1] [a][b]</p>",
  "[e](&#106;avascript:x) [s]( javascript:x) [n](java\nscript:x) [h](https:x)":
    "<p>[e](javascript:x) [s]( javascript:x) [n](java\nscript:x) [h](https:x)</p>",
  "*a [b* c](https://d.e)": "<p>*a <a https://d.e>b* c</a></p>",
};

for (const [source, wanted] of Object.entries(CASES)) {
  test(`${JSON.stringify(source)} is read as CommonMark and GFM do, safely (W8, W13)`, () => {
    expect(html(parse(source))).toBe(wanted);
    expect(html(parse(source.replaceAll("\n", "\r\n")))).toBe(wanted);
  });
}

/** Small, seeded, good enough to choose by. */
function chooser(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const PIECES = [
  ..."*_~`[]()<>#|-+.:!\\&\n\n\n \t1aé😀好",
  ..."\n\n,\n- ,1. ,> ,```,\n```js\n,~~~,**,~~, | ,|a|b|\n,|-|-|\n,    ,  \n,# ,---\n,===\n".split(
    ",",
  ),
  ..."[x](https://y.z),![x](,https://a.b/c,<br>,&amp;,\\*,[ ] ,\r\n,word ,好的，".split(","),
];

test("wherever an answer is cut, it ends as the same as at once (W18)", () => {
  const choose = chooser(7);
  for (let round = 0; round < 1_500; round += 1) {
    let source = "";
    for (let count = choose(60); count >= 0; count -= 1) source += PIECES[choose(PIECES.length)];
    const cut = new Markdown();
    for (let at = 0; at < source.length; ) {
      const size = 1 + choose(6);
      cut.feed(source.slice(at, at + size));
      at += size;
    }
    cut.end();
    expect(cut.root, JSON.stringify(source)).toEqual(parse(source));
  }
});

test("a line, a paragraph and code longer than any limit end the same however they are cut (W18)", () => {
  const choose = chooser(11);
  const long = ["word ".repeat(3_000), "好😀".repeat(3_000), "a\nb **c** ".repeat(900)];
  const all = [...long, `\`\`\`\n${"let x = 1;\n".repeat(900)}`, `|${"a|".repeat(5_000)}`];
  for (const source of all.flatMap((text) => [text, `- ${text}`, `# ${text}`, `> ${text}\n\nz`])) {
    const cut = new Markdown();
    for (let at = 0; at < source.length; ) {
      const size = 1 + choose(997);
      cut.feed(source.slice(at, at + size));
      at += size;
    }
    cut.end();
    expect(cut.root).toEqual(parse(source));
  }
});

test("no letter is lost, whatever the marks around it (W18)", () => {
  const choose = chooser(3);
  for (let round = 0; round < 1_500; round += 1) {
    let source = "";
    let letters = "";
    for (let count = choose(80); count >= 0; count -= 1) {
      const letter = String.fromCodePoint(0x4e00 + count);
      // Letters inside of an address are kept in the link, and after a fence they are its label.
      const piece = [
        "*",
        "**",
        "_",
        "~~",
        "`",
        "[",
        "]",
        "(",
        ")",
        "\n",
        "\n\n",
        "- ",
        "> ",
        "# ",
        "|",
        " ",
      ];
      source += `${letter}${piece[choose(piece.length)]}`;
      letters += letter;
    }
    const seen = words(parse(source));
    expect([...seen].filter((sign) => sign >= "一").join(""), source).toBe(letters);
  }
});

const BLOCKS = [
  () => "## A heading with `code`",
  () => "A paragraph with **strong**, *weak* and ***both***, and `a * b` too.",
  () => "Links: [the page](https://example.com/a_b) and ![a picture](https://example.com/p.png).",
  () => "- one\n- two with **bold**\n  - inner\n  - more\n- three",
  () => "1. first\n2. second\n\n   with a second paragraph\n3. third",
  () => "> quoted *text*\n> in two lines",
  () => "```python\nfor i in range(3):\n    print(i)  # <b>\n\n```",
  () => "| Name | Price |\n|:-----|------:|\n| Tea | 2 |\n| **Cake** | `3` |",
  () => "---",
  () => "Title\n=====",
  () => "~~gone~~ stays, snake_case_stays, 2 * 3 * 4, a\\*b, x &lt; y &amp; z",
  () => "- [ ] to do\n- [x] done",
  () => "中文**加粗**和`代码`，还有[链接](https://example.com)。",
  () => "Line one  \nline two\\\nline three",
  () => "***\n\n    indented code\n\nafter it",
];

/** Marked's HTML as text. A picture's words are an attribute there, a task's box an input. */
function reference(source: string): string {
  return (marked.parse(source, { async: false }) as string)
    .replace(/<img [^>]*alt="([^"]*)"[^>]*>/g, "$1")
    .replace(/<[^>]*>/g, "")
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, "&")
    .replace(/\s+/g, "");
}

test("texts of models have the same words as with marked (W18)", () => {
  const choose = chooser(5);
  for (let round = 0; round < 400; round += 1) {
    const blocks = Array.from({ length: 1 + choose(8) }, () => BLOCKS[choose(BLOCKS.length)]?.());
    const source = blocks.join("\n\n");
    expect(words(parse(source)), source).toBe(reference(source));
  }
});

test("during streaming an open mark looks closed, and an incomplete link target is hidden", () => {
  const shown = (text: string): string => inline(text, true).map(html).join("");
  expect(shown("a **b")).toBe("a <strong>b</strong>");
  expect(shown("a `b")).toBe("a <code>b</code>");
  expect(shown("a [b](https://c")).toBe("a b");
  expect(shown("a **")).toBe("a ");
  expect(shown("2*3")).toBe("2*3");
});

test("the head of a table is one before its second line is there", () => {
  const markdown = new Markdown();
  markdown.feed("| a | b |\n|-");
  expect(html(markdown.root)).toBe("<table><tr><th>a</th><th>b</th></tr></table>");
  markdown.feed("x");
  markdown.end();
  expect(html(markdown.root)).toBe("<p>| a | b |\n|-x</p>");
});

/** Reads everything, and keeps nothing. */
function walk({ kind, kids, literal }: Node): number {
  return kind === "span"
    ? inline(literal, false).length
    : kids.reduce((sum, kid) => sum + walk(kid), 0);
}

const HOSTILE = [
  "[",
  "*",
  "<",
  "`",
  " ",
  "[a](",
  "*a_",
  "$a_",
  "$=",
  "> ",
  "a ",
  "<a",
  "![",
  "|",
  "``` ",
  "&",
  "_*",
];

test.for(HOSTILE)("1 MiB of %j takes linear time (T31)", { timeout: 60_000 }, (sign) => {
  const sizes = [1 << 19, 1 << 20];
  const best = sizes.map(() => Number.POSITIVE_INFINITY);
  // Garbage collection takes some milliseconds; work that is not linear takes minutes.
  const excess = (): number => (best[1] ?? 0) - 3.5 * (best[0] ?? 0) - 100;
  // The machine may be busy, so processor time counts, and the least of several runs.
  for (let round = 0; round < 8 && !(excess() <= 0); round += 1) {
    sizes.forEach((size, at) => {
      const source = sign.repeat(size / sign.length);
      const start = process.cpuUsage();
      walk(parse(source));
      const { user, system } = process.cpuUsage(start);
      best[at] = Math.min(best[at] ?? 0, (user + system) / 1000);
    });
  }
  expect(excess()).toBeLessThanOrEqual(0);
});
