/** Names attributes of the script tag that the widget does not have, such as misspelt ones. */

import type { Settings } from "../settings.ts";

/** All settings, in camel case. */
export const KNOWN = [
  "accent",
  "apiUrl",
  "botCheck",
  "consent",
  "contact",
  "context",
  "firstByteTimeout",
  "greeting",
  "lang",
  "logo",
  "mount",
  "open",
  "persist",
  "position",
  "preset",
  "privacyUrl",
  "retry",
  "stallTimeout",
  "suggestions",
  "theme",
  "tip",
  "tipWhen",
  "title",
  "userToken",
];

/** Attributes that content systems and CDNs add to any script. */
const FOREIGN = /^(cf|wp|nscript|no[A-Z]|rocket|turbo)/;

/** The largest number of edits between a name and the suggested name. */
const NEAR = 3;

/** Writes one warning for each unknown name, with the nearest known name. */
export function warnOfUnknown(settings: Settings): void {
  for (const name of Object.keys(settings)) {
    if (KNOWN.includes(name) || FOREIGN.test(name)) continue;
    const nearest = nearestOf(name);
    const hint = nearest ? `; is ${attribute(nearest)} meant?` : "";
    console.warn(`Chat widget: ${attribute(name)} is unknown${hint}`);
  }
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
