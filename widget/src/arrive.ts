/** The chat, as the loader fetches it. */

import { arrive } from "./chat.ts";

arrive();
