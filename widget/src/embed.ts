/** The loader: one small file, with the chat to be fetched when it is wanted. */

import { fetchChat } from "./fetch-chat.ts";
import { start } from "./loader.ts";

start(fetchChat);
