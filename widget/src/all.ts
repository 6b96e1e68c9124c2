/** The whole widget in one file, for pages that pin one hash. */

import { arrive } from "./chat.ts";
import { start } from "./loader.ts";

start(() => void arrive());
