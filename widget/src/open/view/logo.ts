/** The site's logo, in place of the marks in the header and above the greeting. */

import { element } from "./dom.ts";

/**
 * The image that `setting` names: one of the page's own origin or a data URL, so that no other site
 * learns of the visitor. Undefined for any other address. A page opened from the disk may name a file.
 */
export function logoOf(setting: string, page: Location, base: string): string | undefined {
  const url = URL.canParse(setting, base) ? new URL(setting, base) : undefined;
  const isOwn = url?.origin === page.origin;
  return isOwn || /^data:image\//.test(url?.href ?? "") ? url?.href : undefined;
}

/** Shows the logo in place of the marks once it is loaded. The feature `hints` names one that cannot be. */
export function showLogo(root: ShadowRoot | null, setting: string): void {
  const src = logoOf(setting, location, document.baseURI);
  if (!src) return;
  loaded(src).then(
    () => {
      for (const mark of root?.querySelectorAll(".mark") ?? []) {
        mark.classList.add("logo");
        // The title beside the logo names the site.
        mark.replaceChildren(element("img", { src, alt: "" }));
      }
    },
    () => {},
  );
}

/** Rejects if the address is that of no image. */
export function loaded(src: string): Promise<void> {
  return element("img", { src }).decode();
}
