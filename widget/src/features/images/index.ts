/**
 * Pictures of the visitor, for sites with `data-images="on"`: they are chosen beside the text field, go
 * with the next question, and are shown in it.
 */

import { atEnd } from "../../answer/at-end.ts";
import type { Feature, Kit } from "../../answer/feature.ts";
import { textsOf } from "../../dictionaries.ts";
import { isClick, type Turn } from "../../open/turn.ts";
import { adopt, element } from "../../open/view/dom.ts";
import { adding } from "./adding.ts";
import { ENGLISH } from "./english.ts";
import stylesheet from "./images.css";
import { type Picture, pictureView } from "./picture.ts";
import { storedPictures } from "./stored.ts";
import { Tray } from "./tray.ts";

/** The longer side of a picture in a question, in pixels of a screen with a high resolution. */
const SIDE = 480;

export default async function images(kit: Kit): Promise<Feature> {
  const { root, texts, script, speak, chat, apiUrl } = kit;
  adopt(root, stylesheet);
  const words = { ...ENGLISH, ...texts, ...(await textsOf(texts.lang, script?.src, "images-")) };
  const ofTurn = new WeakMap<Turn, readonly Picture[]>();
  let tray: Tray | undefined;
  /** The turn whose question is being changed, and the pictures that were in the tray before. */
  let edited: Turn | undefined;
  let before: readonly Picture[] = [];

  /** Moves the pictures of the tray to a question. */
  const take = (turn: Turn): readonly Picture[] => {
    const pictures = tray?.pictures ?? [];
    // An empty list also tells the service that the changed question has no pictures any more.
    if (pictures.length > 0 || edited?.images) turn.images = pictures.map(() => ({}));
    tray?.set(before);
    edited = undefined;
    before = [];
    return pictures;
  };
  const picturesOf = (turn: Turn, isNew: boolean): readonly Picture[] => {
    const isAsked = isNew && turn.ending === "open" && !isClick(turn);
    const pictures =
      ofTurn.get(turn) ??
      (isAsked ? take(turn) : storedPictures(turn.images, chat, words.pictureGone));
    ofTurn.set(turn, pictures);
    return pictures;
  };
  return {
    drawn: (panel) => {
      tray = new Tray(panel, words, speak);
    },
    changed: (node, turn, isNew) => {
      const pictures = picturesOf(turn, isNew);
      if (pictures.length === 0 || node.querySelector(".pictures")) return;
      const views = pictures.map((picture) =>
        pictureView(picture, words.picture, SIDE, (canvas) =>
          canvas.replaceWith(element("span", { dir: "auto" }, picture.trouble)),
        ),
      );
      const list = element("div", { className: "pictures" }, ...views);
      atEnd(root?.querySelector(".log"), () => node.querySelector(".question")?.append(list));
    },
    editing: (turn) => {
      before = turn ? (tray?.pictures ?? []) : before;
      tray?.set((turn && ofTurn.get(turn)) ?? before);
      edited = turn;
    },
    failed: (note, { ending, images: refused }) => {
      if (ending !== "invalid_request" || !refused?.length) return;
      note.firstChild?.replaceWith(words.picturesRefused);
      speak(words.picturesRefused);
    },
    asking: async (turn, ask) => (turn?.images ? adding(ask, apiUrl, ofTurn.get(turn) ?? []) : ask),
  };
}
