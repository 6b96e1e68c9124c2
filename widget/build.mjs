/**
 * Builds what a site embeds, and prints its tags: the loader with the chat that it fetches, the
 * same in one file for those who pin one hash, and a dictionary for each further language.
 */

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import { minify } from "terser";
import { flat } from "./flat.mjs";
import { built } from "./names.mjs";

const OUT = new URL("../functions/kefu/web/static/widget/", import.meta.url);
const SOURCES = new URL("src/", import.meta.url);
const LIMITS = { loader: 1.5 * 1024, "loader and chat": 15 * 1024, all: 15 * 1024, kept: 3 * 1024 };

/**
 * Names that stay inside: of no element, attribute or stored or sent JSON, and never written as a
 * string. Whoever adds one has made sure of that.
 */
const INTERNAL = `
  api asked attempts chance chunks cleared consent ended feed firstByteMs follow info inner isAnswering
  isOnline kids kind leave literal made mark moved newId node notice online parsed privacyUrl prose
  rate restarted restored retries retryAfter retryAfterMs root setBusy size slept speak stallMs
  state timeouts told turn unread wake whenGiven
`.trim();

/** The same for those of the texts; the dictionaries are written with the letters that these get. */
const WORDS = `
  agree answering copied disclaimer endings greeting newChat offline privacy ready retry
  sendingWaits thinking you
`.trim();

const letters = Object.fromEntries(
  WORDS.split(/\s+/).map((word, at) => [word, String.fromCharCode(71 + at)]),
);

/** States and limits, which only ever meet each other: a number each. */
const STATES = [
  "awaiting-first-byte",
  "first-byte",
  "back-off",
  "connecting",
  "streaming",
  "stall",
];

function numbered(code) {
  return STATES.reduce(
    (text, name, at) =>
      text.replaceAll(new RegExp(`"${name}"|\\b${name}(?=:\\[?[{"])`, "g"), `"${at}"`),
    code,
  );
}

/** Without the blanks that esbuild leaves inside of custom properties. */
function tightened(css) {
  return css
    .trim()
    .replace(/(?<![\w-])--([\w-]+)/g, (_, name) => `--${built(name)}`)
    .replace(/(--[\w-]+): /g, "$1:")
    .replace(/\s*([,/;])\s*/g, "$1")
    .replace(/\(\s+/g, "(")
    .replace(/\s+(?=[)!])/g, "");
}

const stylesheets = {
  name: "stylesheets",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const css = await readFile(path, "utf8");
      const { code } = await transform(css, { loader: "css", minify: true, target: "es2022" });
      return { contents: tightened(code), loader: "text" };
    });
  },
};

/** A script as short as it gets. `known`: what the build alone knows, by the name in the source. */
async function scriptOf(entry, known, format = "iife") {
  const { outputFiles } = await build({
    entryPoints: [new URL(entry, SOURCES).pathname],
    bundle: true,
    write: false,
    format,
    minifyWhitespace: true,
    charset: "utf8",
    target: "es2022",
    legalComments: "none",
    // Without its "use strict": classes are strict by themselves.
    tsconfigRaw: "{}",
    mangleProps: new RegExp(`^(?:${`${INTERNAL} ${WORDS}`.split(/\s+/).join("|")})$`),
    mangleCache: { ...letters },
    define: Object.fromEntries(
      Object.entries(known).map(([name, value]) => [name, JSON.stringify(value)]),
    ),
    plugins: [stylesheets],
  });
  const { code } = await minify(numbered(flat(outputFiles[0].text)), {
    module: format === "esm",
    compress: {
      ecma: 2022,
      unsafe_arrows: true,
      passes: 3,
      inline: 1,
      unsafe: true,
      pure_getters: true,
    },
    format: { ecma: 2022 },
  });
  // Pages in GBK take a script without a charset for GBK, but for a byte order mark.
  return Buffer.from(/[^\0-\x7f]/.test(code) ? `\ufeff${code}` : code);
}

/** The default export of a source without imports that are left at run time. */
async function defaultOf(source) {
  const { outputFiles } = await build({
    entryPoints: [source.pathname],
    bundle: true,
    write: false,
    format: "esm",
  });
  const code = Buffer.from(outputFiles[0].contents).toString("base64");
  return (await import(`data:text/javascript;base64,${code}`)).default;
}

function abridged(texts) {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [letters[name] ?? name, text]),
  );
}

/** JSON by language. */
async function dictionaries() {
  const folder = new URL("languages/", SOURCES);
  const names = (await readdir(folder)).sort();
  const texts = await Promise.all(names.map((name) => defaultOf(new URL(name, folder))));
  return new Map(
    texts.map((text, at) => [names[at].split(".")[0], JSON.stringify(abridged(text))]),
  );
}

const hash = (content, algorithm) => createHash(algorithm).update(content).digest();
const short = (content) => hash(content, "sha384").toString("hex").slice(0, 12);
const integrityOf = (content, algorithm) =>
  `${algorithm}-${hash(content, algorithm).toString("base64")}`;

/** As small as the format allows: which of its ways is the best for a file shows in trying. */
export const packed = (content) =>
  [constants.BROTLI_MODE_GENERIC, constants.BROTLI_MODE_FONT]
    .flatMap((mode) => [0, 1].map((postfix) => [mode, postfix]))
    .map(([mode, postfix]) =>
      brotliCompressSync(content, {
        params: {
          [constants.BROTLI_PARAM_MODE]: mode,
          [constants.BROTLI_PARAM_NPOSTFIX]: postfix,
          [constants.BROTLI_PARAM_LGWIN]: 16,
        },
      }),
    )
    .reduce((best, other) => (other.length < best.length ? other : best));

/** Every file by its name, and what the tags need. The same sources give the same bytes. */
export async function made() {
  const texts = await dictionaries();
  const kept = await scriptOf("keep.ts", {}, "esm");
  // One for all that is fetched by name only when it is wanted.
  const DICTIONARIES = short([...texts.values(), kept].join("\n"));
  const known = { DICTIONARIES, KEPT_INTEGRITY: integrityOf(kept, "sha256") };
  const chat = await scriptOf("arrive.ts", known);
  const CHAT_FILE = `chat-widget-chat.${short(chat)}.js`;
  // Long enough for a second preimage, and half as long as the other in a file of this size.
  const CHAT_INTEGRITY = integrityOf(chat, "sha256");
  const loader = await scriptOf("embed.ts", { CHAT_FILE, CHAT_INTEGRITY });
  const all = await scriptOf("all.ts", known);
  const [loaderFile, allFile] = [
    `chat-widget.${short(loader)}.js`,
    `chat-widget.all.${short(all)}.js`,
  ];
  const files = new Map([
    ["chat-widget.js", loader],
    [loaderFile, loader],
    [CHAT_FILE, chat],
    [`chat-widget-kept.${DICTIONARIES}.js`, kept],
    ["chat-widget.all.js", all],
    [allFile, all],
  ]);
  for (const [language, json] of texts) {
    files.set(`chat-widget-${language}.${DICTIONARIES}.json`, Buffer.from(json));
  }
  // For pages that show the tag to pin.
  const manifest = {
    file: allFile,
    integrity: integrityOf(all, "sha384"),
    loader: { file: loaderFile, integrity: integrityOf(loader, "sha384") },
  };
  return { files, manifest, sizes: { loader, chat, kept, all } };
}

/** Anew, without what an earlier build has left. */
async function write(files, manifest) {
  await mkdir(OUT, { recursive: true });
  for (const name of await readdir(OUT)) await rm(new URL(name, OUT));
  for (const [name, content] of files) {
    await writeFile(new URL(name, OUT), content);
    await writeFile(new URL(`${name}.br`, OUT), packed(content));
    await writeFile(new URL(`${name}.gz`, OUT), gzipSync(content, { level: 9 }));
  }
  await writeFile(new URL("chat-widget.json", OUT), JSON.stringify(manifest));
}

function tag({ file, integrity }) {
  return (
    `<script src="https://YOUR-HOST/${file}" integrity="${integrity}"` +
    ` crossorigin="anonymous" data-api-url="https://YOUR-HOST/api/chat" defer></script>`
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { files, manifest, sizes } = await made();
  await write(files, manifest);
  const { loader, chat, kept, all } = Object.fromEntries(
    Object.entries(sizes).map(([name, code]) => [name, packed(code).length]),
  );
  const found = { loader, "loader and chat": loader + chat, all, kept };
  for (const [name, limit] of Object.entries(LIMITS)) {
    console.log(`${name}: ${found[name]} bytes with brotli, of ${limit}`);
    if (found[name] > limit) {
      console.error(`${name}: over the limit.`);
      process.exitCode = 1;
    }
  }
  console.log(`The loader:\n${tag(manifest.loader)}\nAll in one file:\n${tag(manifest)}`);
}
