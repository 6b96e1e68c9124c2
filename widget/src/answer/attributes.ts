/** The attributes of the script tag. */

import { BY_LANGUAGE } from "../open/options.ts";
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
  "followUps",
  "greeting",
  "images",
  "lang",
  "logo",
  "mount",
  "open",
  "persist",
  "position",
  "preset",
  "privacyUrl",
  "retry",
  "sound",
  "stallTimeout",
  "suggestions",
  "theme",
  "tip",
  "tipWhen",
  "title",
  "userToken",
  "webmcp",
];

/** Attributes that content systems, CDNs and consent managers add to any script. */
const FOREIGN = /^(astro|cf|cookie|wp|nscript|no[A-Z]|rocket|turbo)/;

/** The tag of a language at the end of a name: `Zh` or `ZhCn`. */
const TAG = /[A-Z][a-z]([A-Z][a-z])?$/;

/** The settings that are no attributes, such as misspelt ones. */
export function unknownOf(settings: Settings): readonly string[] {
  return Object.keys(settings).filter((name) => {
    const isLocal = TAG.test(name) && BY_LANGUAGE.includes(name.replace(TAG, ""));
    return !isLocal && !KNOWN.includes(name) && !FOREIGN.test(name);
  });
}
