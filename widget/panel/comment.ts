/** A visitor's comment on an answer that they rated down. */

import { el } from "./dom.ts";
import { it } from "./insight-texts.ts";

export function commentOf(text: string): HTMLElement {
  return el("span", { className: "comment" }, `${it.comment}: `, el("q", {}, el("bdi", {}, text)));
}
