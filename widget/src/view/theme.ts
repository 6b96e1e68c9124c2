/** The owner's accent, made readable on either surface, as custom properties of the host. */

import { inkOn, readableOn } from "../colour.ts";

export type Theme = "light" | "dark";

const SURFACES: Readonly<Record<Theme, string>> = { light: "#ffffff", dark: "#17191d" };
const ACCENTS: Readonly<Record<Theme, string>> = { light: "#0f6e5c", dark: "#5cc6ae" };

/** On the surface itself, so that 4.5 are left on the tinted grounds beside it. */
const CONTRAST = 5.2;

/** Every colour that depends on the accent, as custom properties. */
export function coloursOf(theme: Theme, accent = ACCENTS[theme]): Readonly<Record<string, string>> {
  return {
    "--accent": accent,
    "--on-accent": inkOn(accent),
    "--accent-ink": readableOn(SURFACES[theme], accent, CONTRAST),
  };
}

/** Sets the theme on `host`; `accent` is the owner's own, if any. */
export function dress(host: HTMLElement, theme: Theme, accent: string | undefined): void {
  host.dataset.theme = theme;
  for (const [name, colour] of Object.entries(coloursOf(theme, accent))) {
    host.style.setProperty(name, colour, "important");
  }
}
