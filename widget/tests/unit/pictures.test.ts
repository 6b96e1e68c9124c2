/** The visitor's pictures: what is read of a file, what is sent, and what is kept of it (W21). */

import { expect, test } from "vitest";
import { adding } from "../../src/features/images/adding.ts";
import { sizeOf } from "../../src/features/images/header.ts";
import type { Picture } from "../../src/features/images/picture.ts";
import { storedPictures } from "../../src/features/images/stored.ts";
import { merged, turnsOf } from "../../src/features/resume/merge.ts";
import type { ChatActs } from "../../src/open/chat-acts.ts";
import type { Ask } from "../../src/open/transport/http.ts";
import type { Turn } from "../../src/open/turn.ts";

/** Bytes from texts of Latin-1 and from numbers. */
function bytes(...parts: readonly (string | number)[]): Uint8Array {
  return Uint8Array.from(
    parts.flatMap((part) =>
      typeof part === "number" ? [part] : [...Buffer.from(part, "latin1").values()],
    ),
  );
}

const JPEG = bytes(
  ...[0xff, 0xd8],
  // EXIF with a preview, which is a JPEG with a size of its own.
  ...[0xff, 0xe1, 0, 14, "Exif\0\0", 0xff, 0xc0, 0, 8, 8, 0],
  // A table and a filler before the frame header of a progressive JPEG.
  ...[0xff, 0xc4, 0, 3, 0, 0xff, 0xff, 0xc2, 0, 17, 8, 0x0b, 0xd0, 0x0f, 0xc0],
);
const PNG = bytes("\x89PNG\r\n\x1a\n", 0, 0, 0, 13, "IHDR", 0, 0, 0x0f, 0xc0, 0, 0, 0x0b, 0xd0);
const LOSSY = bytes("RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0", 0x9d, 1, 0x2a, 0xc0, 0x4f, 0xd0, 0x0b);
// Width 4032 - 1 in the lower 14 bits, height 3024 - 1 in the next ones.
const LOSSLESS = bytes("RIFF\0\0\0\0WEBPVP8L\0\0\0\0/", 0xbf, 0xcf, 0xf3, 0x02);
const EXTENDED = bytes("RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0", 0xbf, 0x0f, 0, 0xcf, 0x0b, 0, 0);
const HEIC = bytes(
  ...["\0\0\0\x18ftypheic\0\0\0\0", "ispe\0\0\0\0", 0, 0, 2, 0, 0, 0, 2, 0],
  ...["ispe\0\0\0\0", 0, 0, 0x0f, 0xc0, 0, 0, 0x0b, 0xd0],
);

test.each([
  ["a JPEG", JPEG],
  ["a PNG", PNG],
  ["a lossy WebP", LOSSY],
  ["a lossless WebP", LOSSLESS],
  ["an extended WebP", EXTENDED],
  ["a HEIC of tiles", HEIC],
])("the size of %s is read, and that of no beginning of it (W21)", (_name, file) => {
  expect(sizeOf(file)).toEqual({ width: 4_032, height: 3_024 });
  for (let length = 0; length < file.length - 8; length += 1) {
    const size = sizeOf(file.subarray(0, length));
    expect([length, size?.width === 4_032]).toEqual([length, false]);
  }
});

test.each(["%PDF-1.7 0123456789", "<svg xmlns='x' width='9'/>", "GIF89a\x01\0\x01\0", ""])(
  "%s is no picture that is taken (W21)",
  (text) => {
    expect(sizeOf(bytes(text))).toBeUndefined();
  },
);

test("a JPEG of nothing but fillers ends (W21)", () => {
  const file = new Uint8Array(1 << 20).fill(0xff);
  file[1] = 0xd8;
  expect(sizeOf(file)).toBeUndefined();
});

const API = new URL("https://chat.example.com/api/chat");

test("a picture that has gone is left out, and without any the service keeps what it has (W21)", async () => {
  const lost = (): Promise<Blob> => Promise.reject(new Error("gone"));
  const picture: Picture = { name: "", trouble: "gone", load: lost };
  const bodies: unknown[] = [];
  const ask: Ask = async (_url, init) => {
    bodies.push(init.body);
    return new Response();
  };
  const post = { method: "POST", body: '{"message":"a"}' };
  await (await adding(ask, API, [picture]))(API, post);
  const none = await adding(ask, API, []);
  await none(API, post);
  await none(new URL(`${API}/cancel`), post);
  await none(API, { method: "GET" });
  expect(bodies).toEqual([post.body, '{"message":"a","images":[]}', post.body, undefined]);
});

test("pictures of a stored chat are asked for once, by ids that are ids, without a size if it is none (W21)", async () => {
  const asked: string[] = [];
  const request = async (rest: string) => {
    asked.push(rest);
    return new Response("picture");
  };
  const chat = () => ({ request }) as unknown as ChatActs;
  const named = [{ id: "1-0", width: 60, height: 40 }, { id: "../x", width: "a" }, {}, 7];
  const pictures = storedPictures(named, chat, "gone");
  expect(pictures[0]).toMatchObject({ name: "", width: 60, height: 40, trouble: "gone" });
  expect(pictures[1]).not.toHaveProperty("width");
  expect(await (await pictures[0]?.load())?.text()).toBe("picture");
  await pictures[0]?.load();
  for (const other of pictures.slice(1)) await expect(other.load()).rejects.toThrow();
  expect(asked).toEqual(["/images/1-0"]);
  expect(storedPictures(undefined, chat, "gone")).toEqual([]);
});

test("a merged question has the pictures that the service names, also while it is answered (W21)", () => {
  const images = [{ id: "1-0", type: "image/jpeg", width: 60, height: 40 }];
  const messages = [
    { role: "user", content: "a", status: "pending", images },
    { role: "user", content: "b", status: "ok", images: "none" },
  ];
  const kept = turnsOf({ messages });
  expect(kept.map((turn) => turn.images)).toEqual([images, undefined]);
  const mine: Turn = { id: "1", question: "a", answer: "", ending: "disconnected", images: [{}] };
  expect(merged(kept.slice(0, 1), [mine])).toMatchObject([{ id: "1", images }]);
});
