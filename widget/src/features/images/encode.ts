/** Encodes a picture anew, so that nothing but the picture is left of a photo: no place, no camera. */

import { HEADER_BYTES, sizeOf } from "./header.ts";

/** The limits of the service: pixels a side, and bytes. */
const LONGEST_SIDE = 1_568;
const MOST_BYTES = 1_000_000;
/** More would take too much memory: a decoded picture has four bytes a pixel. */
const MOST_PIXELS = 1 << 26;
const MOST_FILE_BYTES = 100_000_000;

/** Tried in this order until the file is small enough. */
const QUALITIES = [0.85, 0.7, 0.5, 0.3];

/** The name of the text that says why a file is refused; undefined for a picture that may be decoded. */
export async function refusalOf(file: Blob): Promise<"notPicture" | "bigPicture" | undefined> {
  const bytes = new Uint8Array(await file.slice(0, HEADER_BYTES).arrayBuffer());
  const size = sizeOf(bytes);
  if (!size?.width || !size.height) return "notPicture";
  const isBig = size.width * size.height > MOST_PIXELS || file.size > MOST_FILE_BYTES;
  return isBig ? "bigPicture" : undefined;
}

/** The picture as a JPEG within the limits, upright. Rejects if the browser cannot decode it. */
export async function encoded(file: Blob): Promise<Blob> {
  const picture = await createImageBitmap(file, { imageOrientation: "from-image" });
  const { width, height } = picture;
  let scale = Math.min(1, LONGEST_SIDE / Math.max(width, height));
  try {
    for (;;) {
      const canvas = new OffscreenCanvas(
        Math.max(1, Math.round(width * scale)),
        Math.max(1, Math.round(height * scale)),
      );
      const context = canvas.getContext("2d") as OffscreenCanvasRenderingContext2D;
      // A JPEG has no transparency.
      context.fillStyle = "#fff";
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.imageSmoothingQuality = "high";
      context.drawImage(picture, 0, 0, canvas.width, canvas.height);
      for (const quality of QUALITIES) {
        const blob = await canvas.convertToBlob({ type: "image/jpeg", quality });
        if (blob.size <= MOST_BYTES) return blob;
      }
      scale /= 2;
    }
  } finally {
    picture.close();
  }
}

/** The picture as a `data:` URL. */
export function dataUrl(picture: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(`${reader.result}`);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(picture);
  });
}
