/** Creates the widget from the elements that the loader has drawn. */

import type { Extras, ExtrasModule, UseExtras } from "./extras.ts";
import { Lazy } from "./lazy.ts";
import { readOptions } from "./options.ts";
import { Owner } from "./owner.ts";
import type { Host, Seat } from "./seat.ts";
import { RTL, settingsOf, userTokenOf } from "./settings.ts";
import { areaOf, Store } from "./store.ts";
import { ENGLISH, type Texts } from "./texts.ts";
import { KeptTransport } from "./transport/kept.ts";
import { element } from "./view/dom.ts";
import type { Surface } from "./view/view.ts";
import { Widget } from "./widget.ts";

declare global {
  /** The expected hash of the file; set by the build. */
  const EXTRAS_INTEGRITY: string;
}

/** Takes over the seat that the loader prepared in `host`; the widget may have been removed since. */
export async function open(host: Host): Promise<void> {
  const seat = host.kefu;
  if (!seat || !host.isConnected) return;
  delete host.kefu;
  // The script elements with which loaders of early releases ran this code. Each one alone: if an element
  // loses all its children at once, Chromium drops the click of a button that is being pressed inside.
  for (const script of [...host.children]) script.remove();
  const texts = { ...ENGLISH, ...(await seat.texts) };
  seat.launcher.setCustomValidity("");
  host.lang = texts.lang;
  host.dir = RTL.test(texts.lang) ? "rtl" : "ltr";
  const widget = await widgetOf(host, seat, texts);
  if (!widget) return;
  seat.take(widget);
  seat.launcher.onclick = () => widget.toggle();
}

/** The widget with the restored chat; undefined if its host was removed meanwhile. */
async function widgetOf(host: Host, seat: Seat, texts: Texts): Promise<Widget | undefined> {
  const { launcher, settings, script } = seat;
  const apiUrl = new URL(seat.apiUrl);
  const options = readOptions(settings, texts);
  const store = new Store(apiUrl, () => areaOf(window, options.persist));
  const owner = new Owner(() => userTokenOf(settingsOf(window.ChatWidgetConfig, script)), store);
  let widget: Widget | undefined;
  const transport = new KeptTransport({
    apiUrl,
    store,
    owner,
    lang: texts.lang,
    click: async (...click) => (await extras.load())?.click(...click),
    changed: (chat) => widget?.kept(chat),
    lost: () => widget?.lost(),
    guard: () =>
      settings.botCheck || settings.context || settings.preset
        ? extras.load().then((loaded) => loaded?.guard())
        : undefined,
  });
  const extras = lazyExtras(host, seat, texts, (text) => widget?.speak(text));
  if (store.isNew) await transport.find(settings.preset);
  const { turns, session } = store.read();
  const names = ["suggestions", "consent", "context", "mount", "tip", "logo"];
  const isAsked = names.some((name) => settings[name]);
  const areWanted = turns.length > 0 || session || isAsked;
  const loaded = areWanted ? await extras.load() : undefined;
  if (transport.chat) await loaded?.restore(transport.chat, store, owner);
  // A chat inside the page has no launcher, unless it cannot be put there.
  if (!launcher.isConnected && !(await loaded?.mount())) host.shadowRoot?.append(launcher);
  if (!host.isConnected) return undefined;
  const suggestions: Surface["suggestions"] = (chosen) =>
    loaded?.suggestions(settings.suggestions, chosen) ?? element("div", { hidden: true });
  const useExtras: UseExtras = (use) => extras.use(use);
  const surface = { page: window, host, launcher, texts, options, suggestions, useExtras };
  widget = new Widget({ ...surface, store, owner, transport, loadExtras: () => extras.load() });
  loaded?.drawn();
  return widget;
}

function lazyExtras(
  host: Host,
  seat: Seat,
  texts: Texts,
  speak: (text: string) => void,
): Lazy<Extras> {
  return new Lazy(async () => {
    const module = await seat.fetch<ExtrasModule>("extras", EXTRAS_INTEGRITY);
    return module.default(host.shadowRoot, texts, speak, seat);
  });
}

export type OpenModule = { readonly open: typeof open };
