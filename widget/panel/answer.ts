/** An answer as the widget renders it, or as the model wrote it. */

import { Prose } from "../src/answer/prose.ts";
import { button, el } from "./dom.ts";
import { it } from "./insight-texts.ts";

/** Whether answers are shown as written; for all chats, until it is switched back. */
let isSource = false;

export function answer(text: string): HTMLElement {
  const node = el("div", { className: "text answer" });
  const draw = () => {
    node.classList.toggle("rendered", !isSource);
    // Isolated: direction marks in a text must not affect the text around it (T32).
    node.replaceChildren(isSource ? el("bdi", {}, text) : rendered(text));
  };
  node.addEventListener("redraw", draw);
  draw();
  return node;
}

/** The switch for all answers inside `node`. */
export function sourceSwitch(node: HTMLElement): HTMLElement {
  const toggle = () => {
    isSource = !isSource;
    control.ariaPressed = String(isSource);
    for (const one of node.querySelectorAll(".answer")) one.dispatchEvent(new Event("redraw"));
  };
  const quiet = { className: "quiet", ariaPressed: String(isSource) };
  const control = button(quiet, toggle, it.source);
  return control;
}

/** The text as the widget shows it, without links that work. */
export function rendered(text: string): HTMLElement {
  const node = el("div");
  const prose = new Prose(node, it, () => true);
  prose.feed(text);
  prose.end();
  // A model or a visitor chose the addresses: an operator reads them and does not follow them.
  for (const link of node.querySelectorAll("a")) {
    const shown = el("span", { className: "link", title: link.href });
    shown.append(...link.childNodes);
    link.replaceWith(shown);
  }
  return node;
}
