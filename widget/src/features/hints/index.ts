/** Warns of attributes that the widget does not have, and of a logo that cannot be shown. */

import { KNOWN, unknownOf } from "../../answer/attributes.ts";
import type { Feature, Kit } from "../../answer/feature.ts";
import { loaded, logoOf } from "../../open/view/logo.ts";
import { textOf } from "../../settings.ts";

/** The largest number of edits between a name and the suggested name. */
const NEAR = 3;

export default function hints({ settings }: Kit): Feature {
  return {
    started: () => {
      for (const name of unknownOf(settings)) {
        const nearest = nearestOf(name);
        const hint = nearest ? `; is ${attribute(nearest)} meant?` : "";
        console.warn(`Chat widget: ${attribute(name)} is unknown${hint}`);
      }
      const logo = textOf(settings.logo);
      if (logo) checkLogo(logo);
    },
  };
}

function checkLogo(setting: string): void {
  const src = logoOf(setting, location, document.baseURI);
  const say = (reason: string): void =>
    console.error(`Chat widget: data-logo ${reason}: ${setting}`);
  if (src) loaded(src).catch(() => say("cannot be shown"));
  else say("must be on this site or a data URL");
}

/** The known name with the fewest edits, if it is near. */
export function nearestOf(name: string): string | undefined {
  const far = KNOWN.map(
    (known) => [edits(name.toLowerCase(), known.toLowerCase()), known] as const,
  );
  const [least, nearest] = far.reduce((one, other) => (other[0] < one[0] ? other : one));
  return least <= NEAR && least < name.length / 2 ? nearest : undefined;
}

/** The Levenshtein distance. */
function edits(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1];
    for (const [j, wanted] of [...other].entries()) {
      const [diagonal = 0, above = 0, left = 0] = [row[j], row[j + 1], next[j]];
      next.push(Math.min(above + 1, left + 1, diagonal + (letter === wanted ? 0 : 1)));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}

function attribute(name: string): string {
  return `data-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
