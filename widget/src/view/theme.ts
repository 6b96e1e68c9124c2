/** The owner's accent, made readable on either surface, as custom properties of the host. */

import { inkOn, readableOn } from "../colour.ts";

export type Theme = "light" | "dark";

const SURFACES: Readonly<Record<Theme, string>> = { light: "#ffffff", dark: "#17191d" };
const ACCENTS: Readonly<Record<Theme, string>> = { light: "#0f6e5c", dark: "#5cc6ae" };

/** Sets the theme on `host`; `accent` is the owner's own, if any. */
export function dress(host: HTMLElement, theme: Theme, accent: string | undefined): void {
  const fill = accent ?? ACCENTS[theme];
  host.dataset.theme = theme;
  host.style.setProperty("--accent", fill);
  host.style.setProperty("--on-accent", inkOn(fill));
  host.style.setProperty("--accent-ink", readableOn(SURFACES[theme], fill, 4.5));
}
