/**
 * Writes the table of attributes in docs/widget.md: the defaults are those that the source gives,
 * the meanings are here. A test compares the table, and that no attribute is missing.
 */

import { readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

export const PAGE = new URL("../docs/widget.md", import.meta.url);
const MARKED = /(<!-- attributes -->\n).*?(<!-- \/attributes -->)/su;

/** By the name in camel case: what it may be, and what it means. */
const MEANINGS = {
  apiUrl: ["an address", "the chat service: https, or http on localhost; needed"],
  title: ["text", "the name at the top"],
  greeting: ["text", "the first line"],
  suggestions: [
    "a JSON array, or texts with `\\|` between them",
    "questions to ask with one click; at most 6, of 80 characters each",
  ],
  consent: ["text", "what the visitor must agree to before anything is sent"],
  privacyUrl: ["an address", "of your words on privacy: a link below the input"],
  persist: ["`session`, `local`, `none`", "where the conversation is kept, from the first message"],
  userToken: ["a token", "who the visitor is, signed by your site: [users](identity.md)"],
  lang: ["a language tag", "the language of the widget"],
  theme: ["`auto`, `light`, `dark`", "`auto`: as the visitor's system says"],
  accent: ["`#rgb`, `#rrggbb`", "the colour of mark, send button, links and focus"],
  position: [
    "`auto`, `bottom-right`, `bottom-left`",
    "`auto`: right, or left in a language that is read from the right",
  ],
  open: ["no value, or `false`", "open from the start, where it does not cover the page"],
  retry: ["0 to 5", "automatic requests for one message, beside the first"],
  firstByteTimeout: ["seconds", "the longest silence before an answer"],
  stallTimeout: ["seconds", "the longest silence in the middle of one"],
};

/** What stands in the options under another name or unit. */
const DEFAULTS = {
  apiUrl: () => "",
  theme: () => "`auto`",
  position: () => "`auto`",
  title: () => "by language",
  greeting: () => "by language",
  suggestions: () => "",
  privacyUrl: () => "",
  userToken: () => "",
  lang: () => "the page's, then the browser's",
  accent: () => "green",
  open: ({ open }) => (open ? "on" : "off"),
  retry: ({ retries }) => `\`${retries}\``,
  firstByteTimeout: ({ firstByteMs }) => `\`${firstByteMs / 1000}\``,
  stallTimeout: ({ stallMs }) => `\`${stallMs / 1000}\``,
};

/** The names that the source reads. */
export async function namesRead() {
  const files = ["chat", "keep", "loader", "options", "settings"];
  const sources = await Promise.all(
    files.map((file) => readFile(new URL(`src/${file}.ts`, import.meta.url), "utf8")),
  );
  const reads = sources
    .join("\n")
    .matchAll(/setting\("(\w+)"|settings\.(?!ts")(\w+)|\{ ([\w, ]+) \}: Settings/gu);
  const names = [...reads].flatMap(([, one, other, some]) => one ?? other ?? some.split(", "));
  return [...new Set(names)];
}

export const NAMES = Object.keys(MEANINGS);

/** The page, with the table as it should be. */
export async function pageWithTable() {
  const page = await readFile(PAGE, "utf8");
  return page.replace(MARKED, `$1\n${await table()}\n$2`);
}

async function table() {
  const options = await defaults();
  const rows = Object.entries(MEANINGS).map(([name, [values, meaning]]) => {
    const attribute = `data-${name.replace(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`;
    const value = DEFAULTS[name]?.(options) ?? (options[name] ? `\`${options[name]}\`` : "");
    return `| \`${attribute}\` | ${values} | ${value} | ${meaning} |`;
  });
  return `${["| Attribute | Value | Default | Meaning |", "|---|---|---|---|", ...rows].join("\n")}\n`;
}

/** What the source makes of a tag with nothing but an address. */
async function defaults() {
  const { outputFiles } = await build({
    entryPoints: [new URL("src/options.ts", import.meta.url).pathname],
    bundle: true,
    write: false,
    format: "esm",
  });
  const code = Buffer.from(outputFiles[0].contents).toString("base64");
  const { readOptions } = await import(`data:text/javascript;base64,${code}`);
  const apiUrl = new URL("https://chat.example.com/api/chat");
  return readOptions(apiUrl, {}, {}, () => {});
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await writeFile(PAGE, await pageWithTable());
}
