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

test("built twice, every file has the same name and the same bytes (T28)", () => {
  // Those that are served were built before, by another process.
  const manifest = readFileSync(new URL("chat-widget.json", OUT), "utf8");
  expect(JSON.parse(manifest)).toEqual(built.manifest);
  const names = readdirSync(OUT).filter((name) => !/\.(br|gz)$/.test(name));
  expect(names.sort()).toEqual([...built.files.keys(), "chat-widget.json"].sort());
  for (const [name, content] of built.files)
    expect([name, readFileSync(new URL(name, OUT)).equals(content)]).toEqual([name, true]);
});

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

test("the loader, the panel in one flight, a first answer and each feature are small (W16)", () => {
  const limits = { loader: 2_048, panel: 14_336, "first answer": 28_672, feature: 4_096 };
  expect(LIMITS).toEqual(limits);
  const found = measured(built);
  for (const name of ["loader", "panel", "first answer", "feature"] as const) {
    expect([name, found[name] <= limits[name]]).toEqual([name, true]);
  }
  const { loader, open, answer } = built.sizes;
  expect(found.loader).toBe(sizeOf(loader));
  expect(found.panel).toBeGreaterThan(sizeOf(open));
  expect(found["first answer"]).toBeGreaterThan(found.loader + found.panel + sizeOf(answer));
});

test("a language is a file for the panel, one for each of some features, and one for all others (W9)", () => {
  const textsOf = (pattern: RegExp): object => {
    const [name = ""] = [...built.files.keys()].filter((file) => pattern.test(file));
    return JSON.parse(`${built.files.get(name)}`);
  };
  const panel = textsOf(/^chat-widget-zh-CN\./);
  const others = textsOf(/^chat-widget-answer-zh-CN\./);
  expect(panel).toMatchObject({ lang: "zh-CN", title: "在线客服", send: "发送" });
  const ofContact = textsOf(/^chat-widget-contact-zh-CN\./);
  expect(others).toMatchObject({ copy: "复制" });
  expect(ofContact).toMatchObject({ email: "电子邮箱" });
  const names = [panel, others, ofContact].flatMap((texts) => Object.keys(texts));
  expect(new Set(names).size).toBe(names.length);
});

test("a size does not depend on the hashes in a file (W16)", () => {
  const { loader } = built.sizes;
  const [, integrity = ""] = /(sha256-[\w+/]{43}=)/.exec(loader.toString("utf8")) ?? [];
  const other = integrityOf(Buffer.from("another file"), "sha256");
  const changed = Buffer.from(loader.toString("utf8").replace(integrity, other));
  expect(changed.equals(loader)).toBe(false);
  expect(sizeOf(changed)).toBe(sizeOf(loader));
  // Nor does the code around them: none of their stand-ins is left.
  for (const [name, content] of built.files)
    expect([name, /_{9}/.test(content.toString("utf8"))]).toEqual([name, false]);
});
