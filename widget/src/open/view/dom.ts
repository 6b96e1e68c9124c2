/** Creates elements. Text becomes a text node, never markup. */

type Child = Node | string;
export type Tag = keyof HTMLElementTagNameMap;
/** TypeScript does not know that a text can be assigned to a DOMTokenList. */
export type Properties<T extends Tag> = Partial<Omit<HTMLElementTagNameMap[T], "part">> & {
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

/** A button that calls `act` when it is pressed. */
export function button(
  properties: Properties<"button">,
  act: (event: MouseEvent) => void,
  ...children: readonly Child[]
): HTMLButtonElement {
  return element("button", { type: "button", onclick: act, ...properties }, ...children);
}

/** Adds styles to the widget in `root`. */
export function adopt(root: ShadowRoot | null, styles: string): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  root?.adoptedStyleSheets.push(sheet);
}

/**
 * Takes a node out of where it is, if it is anywhere. Prototype.js, which old shops have, replaces
 * `remove` by a function that throws otherwise.
 */
export function takeOut(node: ChildNode): void {
  node.replaceWith();
}
