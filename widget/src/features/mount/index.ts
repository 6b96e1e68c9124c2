/** Puts the chat inside the page, for sites with `data-mount`. */

import { adopt } from "../../open/view/dom.ts";
import stylesheet from "./mount.css";

/** Moves the widget of `root` into the element `#id`. Returns false without a container. */
export default function mount(root: ShadowRoot, id: string): boolean {
  const place = root.ownerDocument.getElementById(id.replace(/^#/, ""));
  if (!place) {
    console.error(`Chat widget: data-mount: the page has no element ${id}`);
    return false;
  }
  adopt(root, stylesheet);
  place.append(root.host);
  // Runs before the panel's own listener, which would close the chat.
  const keep = (event: Event): void => {
    const isInMenu = (event.target as Element).closest(".tools");
    if ((event as KeyboardEvent).key === "Escape" && !isInMenu) event.stopPropagation();
  };
  root.addEventListener("keydown", keep, { capture: true });
  // After the panel was drawn: a part of the page is not a dialog.
  setTimeout(() => {
    const panel = root.querySelector(".panel");
    if (panel) panel.role = "region";
  });
  return true;
}

export type MountModule = { readonly default: typeof mount };
