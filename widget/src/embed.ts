/**
 * Where the page meets the widget: the script tag, the settings, the one element. Nothing else
 * reads or touches the page's globals.
 */

import { type ChatWidget, handleOf } from "./handle.ts";
import { readOptions } from "./options.ts";
import { HOST_TAG, Widget } from "./widget.ts";

declare global {
  interface Window {
    ChatWidget?: ChatWidget;
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
  // A page that threw its whole document away took the element, not what listens. A form of the
  // page with this name may stand here, too.
  const before = window.ChatWidget;
  if (typeof before?.destroy === "function") before.destroy();
  const page = {
    url: document.baseURI,
    languages: [document.documentElement.lang, ...navigator.languages],
  };
  const options = readOptions({ ...script?.dataset }, window.ChatWidgetConfig, page, (complaint) =>
    console.warn(`Chat widget: ${complaint}`),
  );
  if (typeof options === "string") console.error(`Chat widget: ${options}`);
  else offer(new Widget(window, options));
}

function offer(widget: Widget): void {
  const handle = handleOf(widget, () => {
    if (window.ChatWidget === handle) delete window.ChatWidget;
  });
  window.ChatWidget = handle;
}

start();
