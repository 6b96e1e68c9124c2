/** The whole widget in one file, for those who pin one hash. */

import { arrive } from "./chat.ts";
import { start } from "./loader.ts";

start(() => void arrive());
