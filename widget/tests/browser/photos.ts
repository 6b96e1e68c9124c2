/** Pictures for tests, made by the browser. */

import type { Page } from "playwright-core";

type Kind = "image/jpeg" | "image/png" | "image/webp";

/** A picture whose left half is red and whose right half is blue, or noise that is hard to compress. */
export async function photo(
  page: Page,
  width: number,
  height: number,
  type: Kind = "image/jpeg",
  isNoise = false,
): Promise<Buffer> {
  const base64 = await page.evaluate(
    async ([width, height, type, isNoise]) => {
      const canvas = new OffscreenCanvas(width, height);
      const context = canvas.getContext("2d") as OffscreenCanvasRenderingContext2D;
      context.fillStyle = "#f00";
      context.fillRect(0, 0, width, height);
      context.fillStyle = "#00f";
      context.fillRect(width / 2, 0, width / 2, height);
      if (isNoise) {
        const pixels = context.getImageData(0, 0, width, height);
        // As many bytes as it gives at once.
        for (let at = 0; at < pixels.data.length; at += 1 << 16) {
          crypto.getRandomValues(pixels.data.subarray(at, at + (1 << 16)));
        }
        for (let at = 3; at < pixels.data.length; at += 4) pixels.data[at] = 255;
        context.putImageData(pixels, 0, 0);
      }
      const blob = await canvas.convertToBlob({ type, quality: 1 });
      const reader = new FileReader();
      await new Promise((resolve) => {
        reader.onload = resolve;
        reader.readAsDataURL(blob);
      });
      return String(reader.result).replace(/^.*,/, "");
    },
    [width, height, type, isNoise] as const,
  );
  return Buffer.from(base64, "base64");
}

/** A file that a visitor chooses. */
export interface Upload {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}

export function jpeg(buffer: Buffer, name = "photo.jpg"): Upload {
  return { name, mimeType: "image/jpeg", buffer };
}

/** Chooses files with the button beside the text field, once it is there. */
export async function upload(page: Page, ...files: readonly Upload[]): Promise<void> {
  const field = page.locator("kefu-chat input[type=file]");
  await field.waitFor({ state: "attached" });
  await field.setInputFiles([...files]);
}

/** What a camera writes into a JPEG, here with a place and with the photo lying on its side. */
export const PLACE = "52.5200 N 13.4050 E";

/** The JPEG with EXIF data: the orientation 6, and a text (TIFF 6.0, Exif 2.3). */
export function withExif(jpeg: Buffer): Buffer {
  const place = Buffer.from(`${PLACE}\0`);
  const entries = 2;
  const tiff = Buffer.alloc(8 + 2 + entries * 12 + 4);
  tiff.write("MM\0*", 0, "latin1");
  tiff.writeUInt32BE(8, 4);
  tiff.writeUInt16BE(entries, 8);
  // ImageDescription, ASCII, at the end.
  tiff.writeUInt16BE(0x010e, 10);
  tiff.writeUInt16BE(2, 12);
  tiff.writeUInt32BE(place.length, 14);
  tiff.writeUInt32BE(tiff.length, 18);
  // Orientation, SHORT: to be shown a quarter turn to the right.
  tiff.writeUInt16BE(0x0112, 22);
  tiff.writeUInt16BE(3, 24);
  tiff.writeUInt32BE(1, 26);
  tiff.writeUInt16BE(6, 30);
  const exif = Buffer.concat([Buffer.from("Exif\0\0"), tiff, place]);
  const head = Buffer.from([0xff, 0xe1, 0, 0]);
  head.writeUInt16BE(exif.length + 2, 2);
  return Buffer.concat([jpeg.subarray(0, 2), head, exif, jpeg.subarray(2)]);
}
