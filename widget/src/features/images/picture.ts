/** A picture of the visitor, and its view. */

import { atEnd } from "../../answer/at-end.ts";
import { element } from "../../open/view/dom.ts";

export interface Picture {
  /** The name of its file; empty if the page was opened after it was sent. */
  readonly name: string;
  /** In pixels, as far as known. */
  readonly width?: number;
  readonly height?: number;
  /** What the visitor reads if the picture cannot be loaded. */
  readonly trouble: string;
  /** The picture as a JPEG; the same promise at each call. */
  load(): Promise<Blob>;
}

/** A function that calls `load` only once, and returns that promise at each call. */
export function once(load: () => Promise<Blob>): () => Promise<Blob> {
  let coming: Promise<Blob> | undefined;
  return () => {
    coming ??= load();
    return coming;
  };
}

/**
 * Shows a picture once it is in sight, with sides of at most `longest` pixels. `failed` is called if it
 * cannot be loaded. On a canvas, because an image would need a source in the page's `img-src`.
 */
export function pictureView(
  picture: Picture,
  label: string,
  longest: number,
  failed: (canvas: HTMLElement) => void,
): HTMLCanvasElement {
  const { name, width = 4, height = 3 } = picture;
  const canvas = element("canvas", { role: "img", ariaLabel: name || label, width, height });
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    seen.disconnect();
    picture.load().then(
      (blob) => draw(canvas, blob, longest),
      () => failed(canvas),
    );
  });
  seen.observe(canvas);
  return canvas;
}

async function draw(canvas: HTMLCanvasElement, blob: Blob, longest: number): Promise<void> {
  const picture = await createImageBitmap(blob);
  const scale = Math.min(1, longest / Math.max(picture.width, picture.height));
  atEnd(canvas.closest(".log"), () => {
    canvas.width = Math.ceil(picture.width * scale);
    canvas.height = Math.ceil(picture.height * scale);
  });
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  picture.close();
}
