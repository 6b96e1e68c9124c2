/** The entry point of the chat's script, which the loader fetches. */

import { arrive } from "./chat.ts";

arrive();
