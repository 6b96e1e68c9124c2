/** The whole widget in one file, for pages that pin one hash, and for a loader without its chat. */

import { textsOf } from "./dictionaries.ts";
import { languageOf } from "./languages.ts";
import { start } from "./loader.ts";
import { open } from "./open/open.ts";
import { partsOf } from "./parts.ts";
import { HOST_TAG, type Host } from "./seat.ts";

const host = document.querySelector<Host>(HOST_TAG);
const current = document.currentScript;
// A loader of an earlier release has drawn the launcher, and runs this file inside its host. A later
// loader imports it, and the script of a module is null.
if (host?.kefu && (!current || host.contains(current))) {
  // What loaders of early releases do not have.
  const { settings, script } = host.kefu;
  const wanted = [settings.lang, document.documentElement.lang, ...navigator.languages];
  host.kefu.fetch ??= partsOf(host, script);
  host.kefu.texts ??= textsOf(languageOf(wanted), script?.src);
  void open(host);
} else start(open);
