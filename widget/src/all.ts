/** The whole widget in one file, for pages that pin one hash, and for a loader without its chat. */

import { arrive } from "./chat.ts";
import { start } from "./loader.ts";
import { HOST_TAG } from "./seat.ts";

// A loader of an earlier release has drawn the launcher, and runs this file inside its host.
if (document.currentScript?.closest(HOST_TAG)) arrive();
else start(() => void arrive());
