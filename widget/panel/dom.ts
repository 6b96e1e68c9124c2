/** The elements of the widget, with children that may be absent; and pictures. */

import { element, type Properties, type Tag } from "../src/open/view/dom.ts";

export { button } from "../src/open/view/dom.ts";

export type Child = Node | string | null | undefined | false;

export function el<T extends Tag>(
  tag: T,
  properties: Properties<T> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[T] {
  return element(tag, properties, ...present(children));
}

export function svg(
  tag: string,
  attributes: Readonly<Record<string, string | number>> = {},
  ...children: readonly (Node | string)[]
): SVGElement {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/**
 * Refuses a text of more than `most` characters, as the server counts them. With `maxLength` the
 * browser would cut a pasted text in silence.
 */
export function limit(
  field: HTMLTextAreaElement,
  most: number,
  refusal: (most: number) => string,
): void {
  const check = (): void =>
    field.setCustomValidity([...field.value].length > most ? refusal(most) : "");
  field.addEventListener("input", check);
  check();
}

function present(children: readonly Child[]): (Node | string)[] {
  return children.filter((child): child is Node | string => Boolean(child));
}
