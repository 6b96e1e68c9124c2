/** The entry point of the loader: a small script that fetches the chat when it is needed. */

import { fetchChat } from "./fetch-chat.ts";
import { start } from "./loader.ts";

start(fetchChat);
