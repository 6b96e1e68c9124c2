/** Makes a widget of what the loader drew. */

import { httpApi } from "./api.ts";
import { textsOf } from "./dictionaries.ts";
import { languageOf } from "./languages.ts";
import { readOptions } from "./options.ts";
import { HOST_TAG, type Host } from "./seat.ts";
import { sender } from "./sender.ts";
import { isRtl } from "./settings.ts";
import { areaOf, Store } from "./store.ts";
import { Widget } from "./widget.ts";

/** Takes the seat that waits for it; there is none if the page has had enough of the widget. */
export async function arrive(): Promise<void> {
  const host = document.querySelector<Host>(HOST_TAG);
  if (!host?.kefu) return;
  const [launcher, settings, address, script, take] = host.kefu;
  delete host.kefu;
  // The script that brought it.
  host.replaceChildren();
  const wanted = [settings.lang, document.documentElement.lang, ...navigator.languages];
  const texts = await textsOf(languageOf(wanted), script?.src);
  launcher.setCustomValidity("");
  host.lang = texts.lang;
  host.dir = isRtl(texts.lang) ? "rtl" : "ltr";
  const apiUrl = new URL(address);
  const options = readOptions(settings, texts);
  const store = new Store(apiUrl, () => areaOf(window, options.persist));
  const send = await sender(script, host, apiUrl, store);
  if (!host.isConnected) return;
  const api = httpApi(apiUrl, send);
  const widget = new Widget(window, host, launcher, texts, options, store, api);
  take(widget);
  launcher.onclick = () => widget.toggle();
}
