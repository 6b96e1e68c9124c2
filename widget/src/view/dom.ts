/** Nodes by hand: text only ever becomes a text node, never markup. */

type Child = Node | string;
type Attributes = Readonly<Record<string, string>>;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  write(node, attributes);
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

/** Line icons of one family, on a grid of 24. */
const PATHS = {
  chat: "M12 3.5c5 0 9 3.4 9 7.7s-4 7.7-9 7.7c-1 0-2-.1-2.9-.4L4.6 20.5l.9-3.9C4 15.2 3 13.3 3 11.2 3 6.9 7 3.5 12 3.5ZM8.2 11.3h.01M12 11.3h.01M15.8 11.3h.01",
  close: "M6 6l12 12M18 6 6 18",
  pencil: "M4.5 19.5l1-4L15.8 5.2a2.1 2.1 0 0 1 3 3L8.5 18.5l-4 1ZM13.5 19.5h6",
  down: "M6 9.5l6 6 6-6",
  send: "M12 19V5M5.5 11.5 12 5l6.5 6.5",
  stop: "M8.5 7.5h7a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1Z",
} as const;

export function icon(name: keyof typeof PATHS): SVGSVGElement {
  const [svg, path] = ["svg", "path"].map((tag) =>
    document.createElementNS("http://www.w3.org/2000/svg", tag),
  ) as [SVGSVGElement, SVGPathElement];
  write(svg, { viewBox: "0 0 24 24", class: `icon icon-${name}`, "aria-hidden": "true" });
  write(path, { d: PATHS[name] });
  svg.append(path);
  return svg;
}

function write(node: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}
