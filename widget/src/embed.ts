/** The entry point of the loader: a small script that fetches the chat when it is needed. */

import { start } from "./loader.ts";
import type { OpenModule } from "./open/open.ts";

declare global {
  /** The expected hash of the chat's file; set by the build. */
  const OPEN_INTEGRITY: string;
}

start((host, { script, fetch }) =>
  fetch<OpenModule>("open", OPEN_INTEGRITY).then(
    ({ open }) => open(host),
    (error) => {
      // A loader that a browser has cached may be of an earlier release, whose chat is no longer served.
      // Then the widget in one file takes its place, unless the page allows only known hashes.
      if (!script || script.integrity) throw error;
      return import(new URL("chat-widget.all.js", script.src).href);
    },
  ),
);
