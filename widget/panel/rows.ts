/** A list whose items keep their elements, and the focus, while they do not change. */

interface Item {
  readonly id: string;
}

interface Drawn {
  readonly text: string;
  readonly node: HTMLElement;
}

export class Rows<T extends Item> {
  readonly node: HTMLElement;
  readonly #make: (item: T) => HTMLElement;
  #drawn = new Map<string, Drawn>();

  /** `make` makes the element of an item, and is called again when the item has changed. */
  constructor(node: HTMLElement, make: (item: T) => HTMLElement) {
    this.node = node;
    this.#make = make;
  }

  draw(items: readonly T[]): void {
    const focused = this.#focused();
    const before = this.#drawn;
    this.#drawn = new Map();
    for (const [at, item] of items.entries()) {
      const text = JSON.stringify(item);
      const known = before.get(item.id);
      const node = known?.text === text ? known.node : this.#make(item);
      this.#drawn.set(item.id, { text, node });
      const place = this.node.children[at] ?? null;
      if (place !== node) this.node.insertBefore(node, place);
    }
    while (this.node.children.length > items.length) this.node.lastElementChild?.remove();
    const node = focused && this.#drawn.get(focused.id)?.node;
    if (node) controls(node)[focused.place]?.focus();
  }

  /** The item that has the focus, and the place of the focused control in it. */
  #focused(): { id: string; place: number } | undefined {
    for (const [id, { node }] of this.#drawn) {
      const place = controls(node).indexOf(document.activeElement as HTMLElement);
      if (place >= 0) return { id, place };
    }
    return undefined;
  }
}

function controls(node: HTMLElement): HTMLElement[] {
  return [...node.querySelectorAll<HTMLElement>("a, button")];
}
