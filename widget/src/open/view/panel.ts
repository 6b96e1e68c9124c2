/** The dialog: its head, the conversation, the composer, and the announcements. */

import type { Texts } from "../english.ts";
import { isComposing } from "./composer.ts";
import { button, element } from "./dom.ts";
import { CLOSE, icon } from "./icons.ts";

/** The condition for small screens, as in widget.css: there the panel covers the page. */
export const COVERS_PAGE = "(max-width: 480px), (max-height: 480px)";

export interface PanelOptions {
  readonly title: string;
  /** The address of the site's privacy page. */
  readonly privacyUrl: string | undefined;
}

export interface PanelActs {
  close(): void;
}

export class Panel {
  readonly node: HTMLElement;
  readonly #close: HTMLElement;
  readonly #line = element("span");
  readonly #dot = element("i", { className: "dot" });
  /** Announced by screen readers at the start and the end of an answer, but not while it grows. */
  readonly #spoken = element("div", { className: "spoken", role: "status" });

  constructor(
    texts: Texts,
    { title, privacyUrl }: PanelOptions,
    mark: Node,
    parts: readonly HTMLElement[],
    acts: PanelActs,
  ) {
    const footer = element("p", { className: "disclaimer" }, texts.disclaimer);
    this.#close = button(
      { className: "close", ariaLabel: texts.close, title: texts.close },
      () => acts.close(),
      icon(CLOSE),
    );
    if (privacyUrl) {
      const link = { href: privacyUrl, target: "_blank", rel: "noopener" };
      footer.append(" · ", element("a", link, texts.privacy));
    }
    this.node = element(
      "section",
      { className: "panel", part: "panel", role: "dialog", ariaLabel: title, hidden: true },
      // No <header>, because it would be a second banner of the page.
      element(
        "div",
        { className: "head", part: "header" },
        mark,
        element(
          "div",
          { className: "heading" },
          element("h2", {}, element("bdi", {}, title)),
          element("p", { className: "line" }, this.#dot, this.#line),
        ),
        this.#close,
      ),
      ...parts,
      footer,
      this.#spoken,
    );
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !isComposing(event)) acts.close();
      // A key that is held down must not send, then stop, or accept the consent text.
      const isHeld = event.repeat && event.key === "Enter";
      if (isHeld && (event.target as Element).matches("button")) event.preventDefault();
    });
    // The page's shortcuts, copy protection and smooth scrolling cannot see what is inside the shadow root.
    for (const type of ["keydown", "keypress", "keyup", "wheel", "mousedown", "contextmenu"]) {
      this.node.addEventListener(type, (event) => event.stopPropagation(), { passive: true });
    }
    // The page's menus close at a press outside. If the page prevents the copy, nothing happens here.
    this.node.onmousedown = (event) => {
      (this.node.parentNode as ShadowRoot).host.dispatchEvent(new MouseEvent(event.type, event));
    };
  }

  status(text: string, isOnline: boolean): void {
    this.#line.textContent = text;
    this.#dot.classList.toggle("off", !isOnline);
  }

  /** Adds the tools of the header, once. */
  addMenu(make: () => HTMLElement): void {
    if (this.node.querySelector(".tools")) return;
    this.#close.before(make());
  }

  /** Whether the menu offers the actions for a stored chat. */
  showKept(isKept: boolean): void {
    this.node.classList.toggle("kept", isKept);
  }

  speak(text: string): void {
    this.#spoken.textContent = text;
  }
}
