/** Builds the one file that a site embeds, and prints its tag for those who pin a hash. */

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import { minify } from "terser";

const OUT = new URL("../functions/kefu/web/static/widget/", import.meta.url);
const LIMIT_BYTES = 15 * 1024;

/**
 * Names that stay inside: of no element, attribute or stored or sent JSON, and never written as a
 * string. Whoever adds one has made sure of that.
 */
const INTERNAL = `
  api asked attempts chance cleared due feed firstByteMs inner isAnswering isOnline kids leave made
  moved newId notice offerBelow parsed prose restarted restored retries retryAfter retryAfterMs
  setBusy shown slept speak stallMs timeouts timer told wake whenGiven
`;

/** Without the blanks that esbuild leaves inside of custom properties. */
function tightened(css) {
  return css
    .trim()
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

const { outputFiles } = await build({
  entryPoints: [new URL("src/embed.ts", import.meta.url).pathname],
  bundle: true,
  write: false,
  format: "iife",
  minify: true,
  charset: "utf8",
  target: "es2022",
  legalComments: "none",
  mangleProps: new RegExp(`^(?:${INTERNAL.trim().split(/\s+/).join("|")})$`),
  plugins: [stylesheets],
});
const minified = await minify(outputFiles[0].text, {
  compress: { ecma: 2022, passes: 3, hoist_funs: true, unsafe: true, pure_getters: true },
  format: { ecma: 2022 },
});
// Pages in GBK take a script without a charset for GBK, but for a byte order mark.
const code = Buffer.from(`\ufeff${minified.code}`);
const digest = createHash("sha384").update(code).digest();
const hashed = `chat-widget.${digest.toString("hex").slice(0, 12)}.js`;

await mkdir(OUT, { recursive: true });
for (const name of await readdir(OUT)) {
  if (/^chat-widget\.\w+\.js(\.br|\.gz)?$/.test(name)) await rm(new URL(name, OUT));
}
const packed = brotliCompressSync(code);
for (const name of ["chat-widget.js", hashed]) {
  await writeFile(new URL(name, OUT), code);
  await writeFile(new URL(`${name}.br`, OUT), packed);
  await writeFile(new URL(`${name}.gz`, OUT), gzipSync(code, { level: 9 }));
}
const integrity = `sha384-${digest.toString("base64")}`;
// For pages that show the tag to pin.
await writeFile(new URL("chat-widget.json", OUT), JSON.stringify({ file: hashed, integrity }));

const brotli = packed.length;
console.log(`chat-widget.js  ${code.length} bytes, ${brotli} with brotli`);
console.log(
  `<script src="https://YOUR-HOST/${hashed}" integrity="${integrity}"` +
    ` crossorigin="anonymous" data-api-url="https://YOUR-HOST/api/chat" defer></script>`,
);
if (brotli > LIMIT_BYTES) {
  console.error(`chat-widget.js is over its limit of ${LIMIT_BYTES} bytes with brotli.`);
  process.exitCode = 1;
}
