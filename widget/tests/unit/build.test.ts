/** What the build makes: always the same, small, and bound together by hashes (W2, W16, T28). */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { type Made, made, packed } from "../../build.mjs";

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

test("what is served is what the sources give, packed and plain, and nothing is left over (W2)", () => {
  const names = [...built.files.keys()].flatMap((name) => [name, `${name}.br`, `${name}.gz`]);
  expect(readdirSync(OUT).sort()).toEqual([...names, "chat-widget.json"].sort());
  for (const [name, content] of built.files) {
    const read = (end: string): Buffer => readFileSync(new URL(name + end, OUT));
    expect([name, read("").equals(content)]).toEqual([name, true]);
    expect(brotliDecompressSync(read(".br")).equals(content)).toBe(true);
    expect(gunzipSync(read(".gz")).equals(content)).toBe(true);
  }
});

test("the loader holds the name and the hash of the chat, the manifest those of both tags (T28)", () => {
  const { loader, chat, all } = built.sizes;
  const text = loader.toString("utf8");
  const [file = ""] = /chat-widget-chat\.[0-9a-f]{12}\.js/.exec(text) ?? [];
  expect(built.files.get(file)).toBe(chat);
  expect(text).toContain(integrityOf(chat, "sha256"));
  const { manifest } = built;
  expect(built.files.get(manifest.file)).toBe(all);
  expect(manifest.integrity).toBe(integrityOf(all, "sha384"));
  expect(built.files.get(manifest.loader.file)).toBe(loader);
  expect(manifest.loader.integrity).toBe(integrityOf(loader, "sha384"));
});

test("the loader is at most 1.5 KB, the whole widget at most 15 KB with brotli, in one file and in two (W16)", () => {
  const [loader, chat, all] = (["loader", "chat", "all"] as const).map(
    (name) => packed(built.sizes[name]).length,
  ) as [number, number, number];
  expect(loader).toBeLessThanOrEqual(1_536);
  expect(loader + chat).toBeLessThanOrEqual(15_360);
  expect(all).toBeLessThanOrEqual(15_360);
});
