/** Nodes by hand: text only ever becomes a text node, never markup. */

import { drawing } from "./drawing.ts";

type Child = Node | string;
type Tag = keyof HTMLElementTagNameMap;
/** TypeScript does not know that a list of tokens can be assigned a text. */
type Properties<T extends Tag> = Partial<Omit<HTMLElementTagNameMap[T], "part">> & {
  readonly part?: string;
};

export function element<T extends Tag>(
  tag: T,
  properties: Properties<T> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[T] {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/** A button that does `act` when it is pressed. */
export function button(
  properties: Properties<"button">,
  act: (event: MouseEvent) => void,
  ...children: readonly Child[]
): HTMLButtonElement {
  return element("button", { type: "button", onclick: act, ...properties }, ...children);
}

/** The panel says it aloud. */
export function say(node: Element, text: string): void {
  node.dispatchEvent(new CustomEvent("say", { bubbles: true, detail: text }));
}

const PATHS = {
  close: "M6 6l12 12M18 6 6 18",
  pencil: "M4.5 19.5l1-4L15.8 5.2a2.1 2.1 0 0 1 3 3L8.5 18.5l-4 1ZM13.5 19.5h6",
  down: "M6 9.5l6 6 6-6",
  copy: "M9.5 9.5h10v10h-10ZM14.5 9.5v-5h-10v10h5",
  check: "M5 12.5l4.5 4.5L19 7.5",
  again: "M19.5 12a7.5 7.5 0 1 1-2.2-5.3L20 9.5M20 4.5v5h-5",
  up: "M7.5 11v9H4v-9ZM7.5 11 12 3.5c1.5 0 2.5 1 2.5 2.5v3.5H20L18.5 20h-11",
  send: "M12 19V5M5.5 11.5 12 5l6.5 6.5",
  stop: "M8.5 7.5h7a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1Z",
} as const;

export function icon(name: keyof typeof PATHS): SVGSVGElement {
  const svg = drawing(PATHS[name]);
  svg.setAttribute("class", `icon icon-${name}`);
  svg.ariaHidden = "true";
  return svg;
}
