/** The site's logo, in place of the marks in the header and above the greeting. */

import type { Feature, Kit } from "../../answer/feature.ts";
import { element } from "../../open/view/dom.ts";
import { textOf } from "../../settings.ts";

/**
 * The image that `setting` names: one of the page's own origin or a data URL, so that no other site
 * learns of the visitor. Undefined for any other address.
 */
function logoOf(setting: string, page: Location, base: string): string | undefined {
  const url = URL.canParse(setting, base) ? new URL(setting, base) : undefined;
  const isOwn = url?.origin === page.origin && /^https?:$/.test(url.protocol);
  return isOwn || /^data:image\//.test(url?.href ?? "") ? url?.href : undefined;
}

/** Shows the logo in place of the marks once it is loaded. A logo that cannot be shown is named. */
async function show(panel: HTMLElement, setting: string): Promise<void> {
  const src = logoOf(setting, location, document.baseURI);
  if (src === undefined) {
    console.error(`Chat widget: data-logo must be on this site or a data URL: ${setting}`);
    return;
  }
  try {
    await element("img", { src }).decode();
  } catch {
    console.error(`Chat widget: data-logo cannot be shown: ${setting}`);
    return;
  }
  for (const mark of panel.querySelectorAll(".mark")) {
    mark.classList.add("logo");
    // The title beside the logo names the site.
    mark.replaceChildren(element("img", { src, alt: "" }));
  }
}

export default function logo({ settings }: Kit): Feature {
  return { drawn: (panel) => void show(panel, `${textOf(settings.logo)}`) };
}
