/** The pictures of a visitor's message: small ones, which open in full. */

import { once, type Picture, pictureView } from "../src/features/images/picture.ts";
import { button, type Child, el } from "./dom.ts";
import { t } from "./texts.ts";
import type { Message, MessageImage } from "./types.ts";

/** The longer side of a small picture, and of one in full, in pixels of a sharp screen. */
const SMALL = 320;
const FULL = 1_568;

/** Loads a picture of the chat. */
export type LoadImage = (id: string) => Promise<Blob>;

/** `load`: absent for a file of a chat, which has no pictures. */
export function picturesOf(message: Message, load: LoadImage | undefined): Child {
  const { images = [] } = message;
  const views = images.map((image) => (load ? small(image, load) : said(t.pictureElsewhere)));
  return views.length > 0 && el("div", { className: "pictures" }, ...views);
}

function said(text: string): HTMLElement {
  return el("p", { className: "muted" }, text);
}

function small({ id, width, height }: MessageImage, load: LoadImage): HTMLElement {
  const loadOnce = once(() => load(id));
  const picture = { name: "", width, height, trouble: t.pictureGone, load: loadOnce };
  const gone = () => node.replaceWith(said(picture.trouble));
  const node = button(
    { className: "picture", ariaLabel: t.openPicture, title: t.openPicture },
    () => full(picture),
    pictureView(picture, t.picture, SMALL, gone),
  );
  return node;
}

function full(picture: Picture): void {
  const dialog = el("dialog", { className: "full", ariaLabel: t.picture });
  const close = () => dialog.close();
  const label = { className: "picture", ariaLabel: t.close, title: t.close };
  dialog.append(button(label, close, pictureView(picture, t.picture, FULL, close)));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
