/**
 * Where the page meets the widget: the script tag, the settings, the one element. Nothing else
 * reads or touches the page's globals.
 */

import { readOptions } from "./options.ts";
import { HOST_TAG, Widget } from "./widget.ts";

declare global {
  interface Window {
    ChatWidgetConfig?: unknown;
  }
}

/** Null for a module or an injected script: then the tag is looked for by what it says. */
const script =
  document.currentScript instanceof HTMLScriptElement
    ? document.currentScript
    : document.querySelector<HTMLScriptElement>("script[data-api-url]");

function start(): void {
  // Included twice, or again by a single-page app: the first one stays.
  if (document.querySelector(HOST_TAG) !== null) return;
  const page = {
    url: document.baseURI,
    languages: [document.documentElement.lang, ...navigator.languages],
  };
  const options = readOptions({ ...script?.dataset }, window.ChatWidgetConfig, page, (complaint) =>
    console.warn(`Chat widget: ${complaint}`),
  );
  if (typeof options === "string") console.error(`Chat widget: ${options}`);
  else new Widget(window, options);
}

start();
