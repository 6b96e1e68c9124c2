/**
 * Builds what a site embeds, and prints its tags: the loader with the modules that it fetches, the first
 * two in one file for sites that pin one hash, and a dictionary for each language. Source maps go to
 * maps/, which is not served.
 */

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import { minify } from "terser";

const OUT = new URL("../functions/kefu/web/static/widget/", import.meta.url);
const MAPS = new URL("maps/", import.meta.url);
const SOURCES = new URL("src/", import.meta.url);
const TARGET = "es2022";

/** The features that the chat fetches itself; the file for answers fetches the others. */
const EARLY_FEATURES = ["mount"];

/** The features whose texts are a file of their own in each language, because few sites have them. */
const WITH_TEXTS = ["contact", "images", "talk"];

/**
 * In bytes with brotli: before a visitor shows interest; what the panel needs, which fits into the first
 * ten packets of a connection; all up to an answer with its buttons; and the largest feature. With the
 * longest dictionary of each.
 */
export const LIMITS = { loader: 2_048, panel: 14_336, "first answer": 28_672, feature: 4_096 };

const stylesheets = {
  name: "stylesheets",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const { code } = await transform(source, { loader: "css", minify: true, target: TARGET });
      return { contents: code.trim(), loader: "text" };
    });
  },
};

const HASH = /sha256-[\w+/]{43}=|\b[0-9a-f]{12}\b/gu;

/**
 * Bundles `entry` into one script with its source map. `known`: build constants, by name. While it is
 * minified, hashes have stand-ins: a minifier chooses names by how often each letter occurs.
 */
async function scriptOf(entry, known = {}, format = "iife") {
  const hashes = [];
  const standIn = (hash) => `${hashes.push(hash) - 1}`.padStart(hash.length, "_");
  const { outputFiles } = await build({
    entryPoints: [new URL(entry, SOURCES).pathname],
    outfile: entry,
    bundle: true,
    write: false,
    format,
    minify: true,
    target: TARGET,
    legalComments: "none",
    sourcemap: "external",
    define: Object.fromEntries(
      Object.entries(known).map(([name, value]) => [
        name,
        JSON.stringify(value).replace(HASH, standIn),
      ]),
    ),
    plugins: [stylesheets],
  });
  const [map, script] = outputFiles;
  const { code, map: minifiedMap } = await minify(script.text, {
    module: format === "esm",
    compress: { ecma: 2022, passes: 3, hoist_funs: true },
    // The script of a page may be read in the page's own encoding; a module is always UTF-8.
    format: { ecma: 2022, ascii_only: format !== "esm" },
    sourceMap: { content: map.text },
  });
  const whole = code.replace(/_{9,}(\d+)/gu, (_, at) => hashes[at]);
  return { code: Buffer.from(whole), map: minifiedMap };
}

/** The texts in languages/, by language. */
export async function dictionaries() {
  const folder = new URL("languages/", SOURCES);
  const names = (await readdir(folder)).sort();
  return new Map(
    await Promise.all(
      names.map(async (name) => {
        const { default: texts } = await imported(new URL(name, folder));
        return [name.replace(".ts", ""), texts];
      }),
    ),
  );
}

/** The English texts below `folder`: `ENGLISH` of each file `english.ts`, and of each feature's `index.ts`. */
export async function english(folder = "") {
  const place = new URL(folder, SOURCES);
  const paths = await readdir(place, { recursive: true });
  const found = paths
    .filter((path) => /english\.ts$|^features\/[^/]+\/index\.ts$/u.test(folder + path))
    .sort();
  const texts = found.map(async (path) => (await imported(new URL(path, place))).ENGLISH);
  return Object.assign({}, ...(await Promise.all(texts)));
}

/**
 * The dictionaries as JSON, by the names of their files: in each language the texts of the panel, those
 * of some features, and all others.
 */
async function dictionaryFiles() {
  const parts = await Promise.all([
    english("open/"),
    ...WITH_TEXTS.map((name) => english(`features/${name}/`)),
  ]);
  const prefixes = ["", ...WITH_TEXTS.map((name) => `${name}-`), "answer-"];
  const files = [];
  for (const [language, all] of await dictionaries()) {
    const texts = prefixes.map(() => ({}));
    for (const [name, text] of Object.entries(all)) {
      // -1, the last one, for all other texts.
      const at = parts.findIndex((part) => name in part);
      texts.at(at)[name] = text;
    }
    const json = texts.map((part) => Buffer.from(JSON.stringify(part)));
    files.push(...json.map((part, at) => [prefixes[at] + language, part]));
  }
  return new Map(files);
}

/** The names of the texts that are not translated, by language. */
async function missing() {
  const names = Object.keys(await english());
  return [...(await dictionaries())].flatMap(([language, texts]) => {
    const lacking = names.filter((name) => !(name in texts));
    return lacking.length > 0 ? [[language, lacking]] : [];
  });
}

/** Bundles a source file and imports it into this process. */
export async function imported(source) {
  const { outputFiles } = await build({
    entryPoints: [source.pathname],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    plugins: [stylesheets],
  });
  const code = Buffer.from(outputFiles[0].contents).toString("base64");
  return import(`data:text/javascript;base64,${code}`);
}

const hash = (content, algorithm) => createHash(algorithm).update(content).digest();
const short = (content) => hash(content, "sha384").toString("hex").slice(0, 12);
const integrityOf = (content, algorithm) =>
  `${algorithm}-${hash(content, algorithm).toString("base64")}`;

/** The name of a module's file: src/parts.ts derives it from the hash, too. */
const fileOf = (name, integrity) =>
  `chat-widget-${name}.${integrity.slice(7, 19).replace(/\W/gu, "-")}.js`;

/** Builds all files, by name, and the data for the tags. The same sources give the same bytes. */
export async function made() {
  const texts = await dictionaryFiles();
  const DICTIONARIES = short(Buffer.concat([...texts.values()]));
  const modules = {};
  const integrities = {};
  /** Builds a module, after those whose hashes it knows. */
  const add = async (name, entry, known) => {
    modules[name] = await scriptOf(entry, known, "esm");
    integrities[name] = integrityOf(modules[name].code, "sha256");
  };
  const known = (...names) =>
    Object.fromEntries(names.map((name) => [`${name.toUpperCase()}_INTEGRITY`, integrities[name]]));
  const features = (await readdir(new URL("features/", SOURCES))).sort();
  for (const name of features) await add(name, `features/${name}/index.ts`, { DICTIONARIES });
  const late = features.filter((name) => !EARLY_FEATURES.includes(name));
  const FEATURE_INTEGRITIES = Object.fromEntries(late.map((name) => [name, integrities[name]]));
  await add("answer", "answer/answer.ts", { FEATURE_INTEGRITIES });
  const ofOpen = { DICTIONARIES, ...known("answer", ...EARLY_FEATURES) };
  await add("open", "open/open.ts", ofOpen);
  const [loader, all] = await Promise.all([
    scriptOf("embed.ts", { DICTIONARIES, ...known("open") }),
    scriptOf("all.ts", ofOpen),
  ]);
  const loaderFile = `chat-widget.${short(loader.code)}.js`;
  const allFile = `chat-widget.all.${short(all.code)}.js`;
  const scripts = {
    "chat-widget.js": loader,
    [loaderFile]: loader,
    ...Object.fromEntries(
      Object.entries(modules).map(([name, script]) => [fileOf(name, integrities[name]), script]),
    ),
    "chat-widget.all.js": all,
    [allFile]: all,
  };
  const files = new Map(Object.entries(scripts).map(([name, { code }]) => [name, code]));
  for (const [name, json] of texts) files.set(`chat-widget-${name}.${DICTIONARIES}.json`, json);
  const maps = new Map(Object.entries(scripts).map(([name, { map }]) => [`${name}.map`, map]));
  // For the pages that show a tag with a hash.
  const manifest = {
    file: allFile,
    integrity: integrityOf(all.code, "sha384"),
    loader: { file: loaderFile, integrity: integrityOf(loader.code, "sha384") },
  };
  const sizes = Object.fromEntries(
    Object.entries({ loader, ...modules, all }).map(([name, { code }]) => [name, code]),
  );
  return { files, maps, manifest, sizes, features };
}

/**
 * The size of a file with brotli, whatever the hashes in it: a corrected word in another file changes
 * them, and with them how well the file can be compressed.
 */
export function sizeOf(code) {
  const same = (found) => "x".repeat(found.length);
  const text = code.toString("utf8").replace(HASH, same);
  return brotliCompressSync(text).length;
}

/** The sizes that `LIMITS` apply to. */
export function measured({ files, sizes, features }) {
  const longest = (pattern) =>
    Math.max(...[...files].map(([name, text]) => (pattern.test(name) ? sizeOf(text) : 0)));
  const [loader, open, answer] = ["loader", "open", "answer"].map((name) => sizeOf(sizes[name]));
  const panel = open + longest(/^chat-widget-[a-z]{2}(-[A-Z]{2})?\.\w+\.json$/u);
  return {
    loader,
    panel,
    "first answer": loader + panel + answer + longest(/^chat-widget-answer-.*\.json$/u),
    feature: Math.max(...features.map((name) => sizeOf(sizes[name]))),
  };
}

/** Replaces the files of an earlier build. */
async function write({ files, maps, manifest }) {
  for (const folder of [OUT, MAPS]) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
  }
  for (const [name, content] of files) {
    await writeFile(new URL(name, OUT), content);
    await writeFile(new URL(`${name}.br`, OUT), brotliCompressSync(content));
    await writeFile(new URL(`${name}.gz`, OUT), gzipSync(content, { level: 9 }));
  }
  for (const [name, map] of maps) await writeFile(new URL(name, MAPS), map);
  await writeFile(new URL("chat-widget.json", OUT), JSON.stringify(manifest));
}

function tag({ file, integrity }) {
  return (
    `<script src="https://YOUR-HOST/${file}" integrity="${integrity}"` +
    ` crossorigin="anonymous" data-api-url="https://YOUR-HOST/api/chat" defer></script>`
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const result = await made();
  await write(result);
  for (const [name, code] of Object.entries(result.sizes)) {
    console.log(`${name}: ${sizeOf(code)} bytes with brotli`);
  }
  for (const [language, names] of await missing()) {
    console.log(`${language}: in English until they are translated: ${names.join(", ")}`);
  }
  const found = measured(result);
  for (const [name, limit] of Object.entries(LIMITS)) {
    console.log(`${name}: ${found[name]} of at most ${limit} bytes`);
    if (found[name] > limit) {
      console.error(`${name}: over the limit.`);
      process.exitCode = 1;
    }
  }
  const { manifest } = result;
  console.log(`The loader:\n${tag(manifest.loader)}\nAll in one file:\n${tag(manifest)}`);
}
