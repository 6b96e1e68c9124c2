/** Builds the operator's panel: a page, a script and a style, with hashed names, also compressed. */

import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build, transform } from "esbuild";

const OUT = new URL("../functions/kefu/web/static/panel/", import.meta.url);
const SOURCE = new URL("panel/", import.meta.url);
const LIMIT_BYTES = 42 * 1024;

const { outputFiles } = await build({
  entryPoints: [new URL("main.ts", SOURCE).pathname],
  bundle: true,
  write: false,
  format: "esm",
  minify: true,
  charset: "utf8",
  target: "es2022",
  legalComments: "none",
});
const sheets = ["panel.css", "inbox.css", "insights.css"].map((name) =>
  readFile(new URL(name, SOURCE), "utf8"),
);
const style = await transform((await Promise.all(sheets)).join(""), {
  loader: "css",
  minify: true,
  target: "es2022",
});

await rm(OUT, { recursive: true, force: true });
await mkdir(OUT, { recursive: true });
let total = 0;

/** @returns {Promise<string>} its hashed name */
async function put(name, text, hashed = true) {
  const content = Buffer.from(text);
  const digest = createHash("sha384").update(content).digest("hex").slice(0, 12);
  const full = hashed ? name.replace(".", `.${digest}.`) : name;
  const packed = brotliCompressSync(content);
  await writeFile(new URL(full, OUT), content);
  await writeFile(new URL(`${full}.br`, OUT), packed);
  await writeFile(new URL(`${full}.gz`, OUT), gzipSync(content, { level: 9 }));
  total += packed.length;
  return full;
}

const script = await put("panel.js", outputFiles[0].text);
const sheet = await put("panel.css", style.code);
const page = await readFile(new URL("panel.html", SOURCE), "utf8");
await put("panel.html", page.replace("STYLE", sheet).replace("SCRIPT", script), false);

console.log(`panel  ${total} bytes with brotli`);
if (total > LIMIT_BYTES) {
  console.error(`The panel is over its limit of ${LIMIT_BYTES} bytes with brotli.`);
  process.exitCode = 1;
}
