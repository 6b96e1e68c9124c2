/** Reads type and size of a picture from its first bytes, before the browser decodes it. */

export interface Size {
  /** In pixels. */
  readonly width: number;
  readonly height: number;
}

/** So many bytes contain the size, also behind the profiles and previews of cameras. */
export const HEADER_BYTES = 1 << 20;

/**
 * The size of a JPEG, PNG, WebP, HEIC or AVIF with these first bytes; undefined for all other files,
 * whatever their names say.
 */
export function sizeOf(bytes: Uint8Array): Size | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = (at: number, length: number): string =>
    String.fromCharCode(...bytes.subarray(at, at + length));
  try {
    if (text(0, 3) === "\xff\xd8\xff") return ofJpeg(view);
    if (text(0, 8) === "\x89PNG\r\n\x1a\n") {
      return { width: view.getUint32(16), height: view.getUint32(20) };
    }
    if (text(0, 4) === "RIFF" && text(8, 4) === "WEBP") return ofWebp(view, text(12, 4));
    if (text(4, 4) === "ftyp") return ofHeif(view);
  } catch (error) {
    // The file is shorter than its header says.
    if (!(error instanceof RangeError)) throw error;
  }
  return undefined;
}

/** The frame header has a marker of 0xC0 to 0xCF, but for three that are tables (ITU T.81, table B.1). */
function ofJpeg(view: DataView): Size {
  let at = 2;
  for (;;) {
    const marker = view.getUint16(at);
    const isFrame =
      marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker);
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    // A marker may have any number of 0xFF before it.
    at += marker === 0xffff ? 1 : 2 + view.getUint16(at + 2);
  }
}

/** The three kinds of the first chunk: lossy (RFC 6386), lossless and extended (RFC 9649). */
function ofWebp(view: DataView, kind: string): Size | undefined {
  if (kind === "VP8 ") {
    const [width, height] = [26, 28].map((at) => view.getUint16(at, true) & 0x3fff);
    return { width: width as number, height: height as number };
  }
  if (kind === "VP8L") {
    const bits = view.getUint32(21, true);
    return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
  }
  if (kind !== "VP8X") return undefined;
  const [width, height] = [24, 27].map((at) => (view.getUint32(at, true) & 0xffffff) + 1);
  return { width: width as number, height: height as number };
}

/** The largest of the `ispe` boxes (ISO 23008-12): a picture may consist of tiles. */
function ofHeif(view: DataView): Size | undefined {
  let size: Size | undefined;
  for (let at = 0; at + 16 <= view.byteLength; at += 1) {
    if (view.getUint32(at) !== 0x69737065) continue;
    const [width, height] = [view.getUint32(at + 8), view.getUint32(at + 12)];
    if (width * height > (size ? size.width * size.height : 0)) size = { width, height };
  }
  return size;
}
