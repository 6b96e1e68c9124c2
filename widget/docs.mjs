/**
 * Writes the table of attributes in docs/widget.md. The defaults come from the source, the meanings
 * are here. A test compares the table with the source, and finds missing attributes.
 */

import { readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { imported } from "./build.mjs";

export const PAGE = new URL("../docs/widget.md", import.meta.url);
const MARKED = /(<!-- attributes -->\n).*?(<!-- \/attributes -->)/su;

/** The values and the meaning of each attribute, by its name in camel case. */
const MEANINGS = {
  apiUrl: ["an address", "the chat service: https, or http on localhost; required"],
  title: ["text", "the title at the top"],
  greeting: ["text", "the first message in the panel"],
  suggestions: [
    "a JSON array, or texts with `\\|` between them",
    "questions that a visitor can send with one click; at most 6, of 80 characters each",
  ],
  followUps: ["`off`", "no [questions to go on](#buttons-below-an-answer) below an answer"],
  images: ["`on`", "visitors can send [pictures](#pictures-from-visitors) with a question"],
  consent: ["text", "a text that the visitor must accept before anything is sent"],
  botCheck: [
    "`turnstile:SITEKEY`, `hcaptcha:SITEKEY`",
    "runs the [bot check](bot-check.md) before the first message",
  ],
  contact: [
    "no value, or `false`",
    "offers the [contact form](contact.md) of the service to visitors",
  ],
  preset: ["a name", "the [preset](sessions.md#presets) of the service for new chats"],
  context: [
    "`page`, or a JSON object",
    "[facts about the page](#what-the-visitor-sees), sent with each question",
  ],
  logo: [
    "an address of your site, or a data URL",
    "the [logo](widget-look.md#the-logo) in the header and above the greeting",
  ],
  privacyUrl: ["an address", "your privacy page, linked below the input"],
  persist: [
    "`session`, `local`, `none`",
    "storage of the conversation in the browser, from the first message",
  ],
  userToken: ["a token", "identifies the visitor, signed by your site: [users](identity.md)"],
  lang: ["a language tag", "the language of the widget"],
  mount: [
    "`#id`",
    "shows the chat [inside the page](#inside-the-page), in the element with this id",
  ],
  sound: ["`off`", "no [sound](contact.md#what-the-widget-does) for a person's line"],
  tip: ["text", "a [tip beside the launcher](#the-tip), once a visit"],
  tipWhen: [
    "such as `8s 50% /pricing*`",
    "when the tip is shown: after seconds, or a part of the page scrolled; and on which paths",
  ],
  theme: ["`auto`, `light`, `dark`", "`auto`: [as the page](widget-look.md#light-and-dark)"],
  accent: ["`#rgb`, `#rrggbb`", "the colour of mark, send button, links and focus"],
  position: [
    "`auto`, `bottom-right`, `bottom-left`",
    "`auto`: right; left in right-to-left languages",
  ],
  open: [
    "no value, or `false`",
    "whether the panel is open from the start, unless it covers the page",
  ],
  webmcp: [
    "`on`",
    "[the browser's assistant](mcp.md#the-browsers-assistant) can search your pages",
  ],
  retry: ["0 to 5", "maximum automatic retries of a message"],
  firstByteTimeout: ["seconds", "maximum wait for the first byte of an answer"],
  stallTimeout: ["seconds", "maximum silence during an answer"],
};

/** The defaults of attributes that have another name or unit in the options. */
const DEFAULTS = {
  apiUrl: () => "",
  mount: () => "",
  tip: () => "",
  tipWhen: () => "`5s`",
  theme: () => "`auto`",
  position: () => "`auto`",
  title: () => "by language",
  greeting: () => "by language",
  suggestions: () => "",
  preset: () => "",
  context: () => "",
  logo: () => "",
  privacyUrl: () => "",
  userToken: () => "",
  lang: () => "the page's, then the browser's",
  accent: () => "green",
  botCheck: () => "off",
  contact: () => "off",
  images: () => "off",
  webmcp: () => "off",
  open: ({ open }) => (open ? "on" : "off"),
  retry: ({ retries }) => `\`${retries}\``,
  firstByteTimeout: ({ firstByteMs }) => `\`${firstByteMs / 1000}\``,
  stallTimeout: ({ stallMs }) => `\`${stallMs / 1000}\``,
};

/** The names of the attributes that the source reads. */
export async function namesRead() {
  const files = [
    "loader",
    "settings",
    "open/open",
    "open/options",
    "answer/features",
    "features/page/fields",
    "features/check/index",
    "features/talk/sound",
    "features/tip/index",
  ];
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

/** The page with an updated table. */
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

/** The options for a script tag that sets only the address. */
async function defaults() {
  const { readOptions } = await imported(new URL("src/open/options.ts", import.meta.url));
  const apiUrl = new URL("https://chat.example.com/api/chat");
  return readOptions(apiUrl, {}, {}, () => {});
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await writeFile(PAGE, await pageWithTable());
}
