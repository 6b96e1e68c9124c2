/** The pictures that go with the next question: chosen with a button, pasted, or dropped on the panel. */

import { button, element } from "../../open/view/dom.ts";
import { CLOSE, icon } from "../../open/view/icons.ts";
import { encoded, refusalOf } from "./encode.ts";
import type { PictureTexts } from "./english.ts";
import { type Picture, pictureView } from "./picture.ts";

/** The limit of the service. */
const MOST = 3;
/** The longer side of a picture in the tray, in pixels of a screen with a high resolution. */
const SIDE = 192;

export class Tray {
  readonly #words: PictureTexts;
  readonly #speak: (text: string) => void;
  readonly #input: HTMLTextAreaElement;
  readonly #placeholder: string;
  readonly #items = new Map<Picture, HTMLElement>();
  readonly #list: HTMLElement;
  readonly #note: HTMLElement;
  readonly #trouble = element("p", { className: "refused", dir: "auto" });
  readonly #node: HTMLElement;
  /** One after the other: a decoded photo takes much memory. */
  #before: Promise<unknown> = Promise.resolve();

  constructor(panel: HTMLElement, words: PictureTexts, speak: (text: string) => void) {
    const form = panel.querySelector(".composer") as HTMLFormElement;
    this.#words = words;
    this.#speak = speak;
    this.#input = form.querySelector("textarea") as HTMLTextAreaElement;
    this.#placeholder = this.#input.placeholder;
    this.#list = element("ul", { className: "pictures", ariaLabel: words.pictures });
    this.#note = element("p", {}, words.pictureNote);
    this.#node = element("div", { className: "tray" }, this.#list, this.#note, this.#trouble);
    const add = (files: readonly File[]) => this.#add(files);
    form.prepend(this.#node, ...chooser(words.addPicture, add));
    receive(panel, this.#input, add);
    // What is not sent belongs to the text, which the next user of the page does not see either.
    form.addEventListener("reset", () => this.set([]));
    this.#refuse();
  }

  get pictures(): readonly Picture[] {
    return [...this.#items.keys()];
  }

  /** Replaces the pictures. */
  set(pictures: readonly Picture[]): void {
    for (const picture of this.pictures) this.#remove(picture);
    for (const picture of pictures) this.#put(picture);
    this.#refuse();
  }

  async #add(files: readonly File[]): Promise<void> {
    this.#refuse();
    for (const file of files) {
      const refusal = await refusalOf(file);
      if (refusal) this.#refuse(this.#words[refusal], file.name);
      else if (this.#items.size < MOST) this.#put(this.#chosen(file));
      else {
        this.#refuse(this.#words.manyPictures);
        break;
      }
    }
    if (this.#trouble.hidden) this.#count();
  }

  #chosen(file: File): Picture {
    const blob = this.#before.then(() => encoded(file));
    this.#before = blob.catch(() => {});
    return { name: file.name, trouble: this.#words.notPicture, load: () => blob };
  }

  #put(picture: Picture): void {
    const { picture: unnamed, removePicture } = this.#words;
    const view = pictureView(picture, unnamed, SIDE, () => {
      if (!this.#items.has(picture)) return;
      this.#remove(picture);
      this.#refuse(picture.trouble, picture.name);
    });
    const label = `${removePicture}: ${picture.name || unnamed}`;
    const look = { className: "remove", ariaLabel: label, title: label };
    const gone = (): void => {
      this.#remove(picture);
      this.#refuse();
      this.#count();
      (this.#list.querySelector("button") ?? this.#input).focus();
    };
    const item = element("li", {}, view, button(look, gone, icon(CLOSE)));
    this.#items.set(picture, item);
    this.#list.append(item);
    this.#show();
  }

  #remove(picture: Picture): void {
    this.#items.get(picture)?.remove();
    this.#items.delete(picture);
  }

  #count(): void {
    this.#speak(`${this.#words.pictures}: ${this.#items.size}`);
  }

  /** Shows why the file `name` was refused; without a reason, that all is well. */
  #refuse(reason = "", name = ""): void {
    this.#trouble.replaceChildren(...(name ? [element("bdi", {}, name), ": "] : []), reason);
    this.#trouble.hidden = !reason;
    this.#show();
    if (reason) this.#speak(`${this.#trouble.textContent}`);
  }

  #show(): void {
    const isEmpty = this.#items.size === 0;
    this.#note.hidden = this.#list.hidden = isEmpty;
    this.#node.hidden = isEmpty && this.#trouble.hidden;
    this.#input.placeholder = isEmpty ? this.#placeholder : this.#words.askPicture;
    const alone = isEmpty ? "" : this.#words.picture;
    if (this.#input.name === alone) return;
    this.#input.name = alone;
    this.#input.dispatchEvent(new Event("input"));
  }
}

const PICTURE = [
  "picture",
  "M4.5 5.5h15v13h-15ZM4.5 15.5 9 11l5 5 2.5-2.5 3 3M15.5 9h.01",
] as const;

type Add = (files: readonly File[]) => void;

/** The button, and the field behind it; a phone offers its camera, too. */
function chooser(label: string, add: Add): readonly HTMLElement[] {
  const file = element("input", {
    type: "file",
    accept: "image/*",
    multiple: true,
    hidden: true,
    onchange: () => {
      add([...(file.files ?? [])]);
      file.value = "";
    },
  });
  const look = { className: "tool", ariaLabel: label, title: label };
  return [button(look, () => file.click(), icon(PICTURE)), file];
}

/** Takes files that are pasted into `input` or dropped on `panel`. */
function receive(panel: HTMLElement, input: HTMLElement, add: Add): void {
  const take = (event: Event, files: FileList): void => {
    event.preventDefault();
    add([...files]);
  };
  input.addEventListener("paste", (event) => {
    const { clipboardData: copied } = event;
    // Cells of a table are copied as text and as a picture.
    if (copied?.files.length && !copied.getData("text/plain")) take(event, copied.files);
  });
  const mark = (isOver: boolean) => panel.classList.toggle("receives", isOver);
  panel.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    mark(true);
  });
  panel.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!panel.contains(relatedTarget as Node | null)) mark(false);
  });
  panel.addEventListener("drop", (event) => {
    mark(false);
    if (event.dataTransfer?.files.length) take(event, event.dataTransfer.files);
  });
}
