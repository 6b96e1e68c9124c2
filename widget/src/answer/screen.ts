/** On small screens the open panel covers the page: keeps the focus inside, and the keyboard clear. */

import { COVERS_PAGE } from "../open/view/panel.ts";

const FOCUSABLE = "button, a[href], textarea, [tabindex='0']";

export function fillScreen(panel: HTMLElement, signal: AbortSignal): void {
  const covers = matchMedia(COVERS_PAGE);
  const options = { signal };
  const tell = (): void => {
    panel.ariaModal = String(covers.matches);
  };
  covers.addEventListener("change", tell, options);
  tell();
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Tab" && covers.matches) turnAround(event, panel);
  });
  const viewport = visualViewport;
  const fit = (): void => {
    // If the visitor has zoomed in, the visible area is smaller on purpose.
    if (viewport?.scale !== 1) return;
    const zoom = panel.currentCSSZoom ?? 1;
    panel.style.setProperty("--top", `${viewport.offsetTop / zoom}px`);
    panel.style.setProperty("--height", `${viewport.height / zoom}px`);
  };
  for (const type of ["resize", "scroll"]) viewport?.addEventListener(type, fit, options);
}

/** Moves the focus from the last focusable element to the first, and back. */
function turnAround(event: KeyboardEvent, panel: HTMLElement): void {
  const shown = [...panel.querySelectorAll<HTMLElement>(FOCUSABLE)].filter((node) =>
    node.checkVisibility(),
  );
  const from = event.shiftKey ? shown[0] : shown.at(-1);
  const to = event.shiftKey ? shown.at(-1) : shown[0];
  if (event.target !== from) return;
  event.preventDefault();
  to?.focus();
}
