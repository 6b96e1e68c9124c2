/** The whole widget in one file, for pages that pin one hash, and for a loader without its chat. */

import { start } from "./loader.ts";
import { open } from "./open.ts";
import { partsOf } from "./parts.ts";
import { HOST_TAG, type Host } from "./seat.ts";

const host = document.querySelector<Host>(HOST_TAG);
const script = document.currentScript;
// A loader of an earlier release has drawn the launcher, and runs this file inside its host. A later
// loader imports it, and the script of a module is null.
if (host?.kefu && (script ? host.contains(script) : true)) {
  // Loaders of early releases have no such function.
  host.kefu.fetch ??= partsOf(host, host.kefu.script);
  void open(host);
} else start(open);
