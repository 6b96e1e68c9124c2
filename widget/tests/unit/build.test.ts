/** The built files: reproducible, small, and linked by hashes (W2, W16, T28). */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { LIMITS, type Made, made, measured, sizeOf } from "../../build.mjs";

const OUT = new URL("../../../functions/kefu/web/static/widget/", import.meta.url);

let built: Made;
beforeAll(async () => {
  built = await made();
}, 60_000);

function integrityOf(content: Buffer, algorithm: string): string {
  return `${algorithm}-${createHash(algorithm).update(content).digest("base64")}`;
}

test("built twice, every file has the same name and the same bytes (T28)", async () => {
  const again = await made();
  expect([...again.files.keys()]).toEqual([...built.files.keys()]);
  for (const [name, content] of built.files)
    expect([name, again.files.get(name)?.equals(content)]).toEqual([name, true]);
  expect(again.manifest).toEqual(built.manifest);
}, 60_000);

test("the served files match the sources, compressed and plain, without leftovers (W2)", () => {
  const names = [...built.files.keys()].flatMap((name) => [name, `${name}.br`, `${name}.gz`]);
  expect(readdirSync(OUT).sort()).toEqual([...names, "chat-widget.json"].sort());
  for (const [name, content] of built.files) {
    const read = (end: string): Buffer => readFileSync(new URL(name + end, OUT));
    expect([name, read("").equals(content)]).toEqual([name, true]);
    expect(brotliDecompressSync(read(".br")).equals(content)).toBe(true);
    expect(gunzipSync(read(".gz")).equals(content)).toBe(true);
  }
});

test("each script has a source map that leads to the sources, and is not served", () => {
  const scripts = [...built.files.keys()].filter((name) => name.endsWith(".js"));
  expect([...built.maps.keys()]).toEqual(scripts.map((name) => `${name}.map`));
  for (const [name, text] of built.maps) {
    const { sources, sourcesContent, mappings } = JSON.parse(text);
    expect([name, sources.some((source: string) => source.endsWith(".ts"))]).toEqual([name, true]);
    expect(sourcesContent).toHaveLength(sources.length);
    expect(mappings.length).toBeGreaterThan(100);
  }
  for (const [name, content] of built.files) {
    expect([name, content.includes("sourceMappingURL")]).toEqual([name, false]);
  }
  expect(readdirSync(OUT).filter((name) => name.includes(".map"))).toEqual([]);
});

test("the loader holds the hash of the chat, of which its name is a part, the manifest those of both tags (T28)", () => {
  const { loader, open, all } = built.sizes;
  const integrity = integrityOf(open, "sha256");
  expect(loader.toString("utf8")).toContain(integrity);
  const version = integrity.slice(7, 19).replace(/\W/g, "-");
  expect(built.files.get(`chat-widget-open.${version}.js`)).toBe(open);
  const { manifest } = built;
  expect(built.files.get(manifest.file)).toBe(all);
  expect(manifest.integrity).toBe(integrityOf(all, "sha384"));
  expect(built.files.get(manifest.loader.file)).toBe(loader);
  expect(manifest.loader.integrity).toBe(integrityOf(loader, "sha384"));
});

test("the loader is at most 2 KB, all up to an answer with its buttons at most 28 KB, the tools 7 KB (W16, A19)", () => {
  expect(LIMITS).toEqual({ loader: 2_048, "first answer": 28_672, tools: 7_168 });
  const found = measured(built.sizes);
  expect(found.loader).toBeLessThanOrEqual(LIMITS.loader);
  expect(found["first answer"]).toBeLessThanOrEqual(LIMITS["first answer"]);
  expect(found.tools).toBeLessThanOrEqual(LIMITS.tools);
  const { loader, open, answer } = built.sizes;
  expect(found["first answer"]).toBe(sizeOf(loader) + sizeOf(open) + sizeOf(answer));
});

test("a size does not depend on the hashes in a file (W16)", () => {
  const { loader } = built.sizes;
  const [, integrity = ""] = /(sha256-[\w+/]{43}=)/.exec(loader.toString("utf8")) ?? [];
  const other = integrityOf(Buffer.from("another file"), "sha256");
  const changed = Buffer.from(loader.toString("utf8").replace(integrity, other));
  expect(changed.equals(loader)).toBe(false);
  expect(sizeOf(changed)).toBe(sizeOf(loader));
});
