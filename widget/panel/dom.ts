/** Creates elements. Text of a visitor becomes a text node, never markup. */

export type Child = Node | string | null | undefined | false;
type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  write(node, attributes);
  node.append(...shown(children));
  return node;
}

export function svg(
  tag: string,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElement {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  write(node, attributes);
  node.append(...shown(children));
  return node;
}

export function button(
  attributes: Attributes,
  act: (event: MouseEvent) => void,
  ...children: readonly Child[]
): HTMLButtonElement {
  const node = el("button", { type: "button", ...attributes }, ...children);
  node.addEventListener("click", act);
  return node;
}

function shown(children: readonly Child[]): (Node | string)[] {
  return children.filter((child): child is Node | string => Boolean(child));
}

function write(node: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
}
