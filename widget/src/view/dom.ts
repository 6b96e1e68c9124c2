/** Nodes by hand: text only ever becomes a text node, never markup. */

import { drawing } from "./drawing.ts";

type Child = Node | string;
type Attributes = Readonly<Record<string, string>>;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** A button that does `act` when it is pressed. */
export function button(
  attributes: Attributes,
  act: (event: MouseEvent) => void,
  ...children: readonly Child[]
): HTMLButtonElement {
  const node = element("button", { type: "button", ...attributes }, ...children);
  node.addEventListener("click", act);
  return node;
}

const PATHS = {
  close: "M6 6l12 12M18 6 6 18",
  pencil: "M4.5 19.5l1-4L15.8 5.2a2.1 2.1 0 0 1 3 3L8.5 18.5l-4 1ZM13.5 19.5h6",
  down: "M6 9.5l6 6 6-6",
  send: "M12 19V5M5.5 11.5 12 5l6.5 6.5",
  stop: "M8.5 7.5h7a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1Z",
} as const;

export function icon(name: keyof typeof PATHS): SVGSVGElement {
  const svg = drawing(PATHS[name]);
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  return svg;
}
