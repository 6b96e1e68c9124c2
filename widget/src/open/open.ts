/** Creates the widget from the elements that the loader has drawn. */

import type { AnswerModule, AnswerPart, UseAnswer } from "../answer/answer.ts";
import { type Dictionary, textsOf } from "../dictionaries.ts";
import type { MountModule } from "../features/mount/index.ts";
import type { Host, Seat } from "../seat.ts";
import { RTL, settingsOf, textOf, userTokenOf } from "../settings.ts";
import { ENGLISH, type Texts } from "./english.ts";
import { Lazy } from "./lazy.ts";
import { chooseTexts, readOptions } from "./options.ts";
import { Owner } from "./owner.ts";
import { areaOf, Store } from "./store.ts";
import { readSuggestions } from "./suggestions.ts";
import { KeptTransport } from "./transport/kept.ts";
import { isClick } from "./turn.ts";
import { showLogo } from "./view/logo.ts";
import { Widget } from "./widget.ts";

declare global {
  /** The expected hashes of the files; set by the build. */
  const ANSWER_INTEGRITY: string;
  const MOUNT_INTEGRITY: string;
}

/** Takes over the seat that the loader prepared in `host`; the widget may have been removed since. */
export async function open(host: Host): Promise<void> {
  const seat = host.kefu;
  if (!seat || !host.isConnected) return;
  delete host.kefu;
  const { launcher, script } = seat;
  // What an answer needs is fetched before the panel is drawn, but nothing waits for it.
  const module = seat.fetch<AnswerModule>("answer", ANSWER_INTEGRITY);
  module.catch(() => {});
  // The script elements with which loaders of early releases ran this code. Each one alone: if an element
  // loses all its children at once, Chromium drops the click of a button that is being pressed inside.
  for (const child of host.querySelectorAll("script")) child.remove();
  const texts = { ...ENGLISH, ...(await seat.texts) };
  launcher.setCustomValidity("");
  host.lang = texts.lang;
  host.dir = RTL.test(texts.lang) ? "rtl" : "ltr";
  const further = textsOf(texts.lang, script?.src, "answer-");
  const widget = await widgetOf(host, seat, texts, { module, further });
  if (!widget) return;
  seat.take(widget);
  launcher.onclick = () => widget.toggle();
}

/** What is being fetched for answers. */
interface Coming {
  readonly module: Promise<AnswerModule>;
  readonly further: Promise<Dictionary>;
}

/** The widget with the restored chat; undefined if its host was removed meanwhile. */
async function widgetOf(
  host: Host,
  seat: Seat,
  texts: Texts,
  coming: Coming,
): Promise<Widget | undefined> {
  const { launcher, settings, script } = seat;
  const apiUrl = new URL(seat.apiUrl);
  chooseTexts(settings, texts.lang);
  const options = readOptions(settings, texts);
  const store = new Store(apiUrl, () => areaOf(window, options.persist));
  const owner = new Owner(() => userTokenOf(settingsOf(window.ChatWidgetConfig, script)), store);
  let widget: Widget | undefined;
  const answer = lazyAnswer(host, seat, texts, coming, (text) => widget?.speak(text));
  const transport = new KeptTransport({
    apiUrl,
    store,
    owner,
    lang: texts.lang,
    changed: (chat) => widget?.kept(chat),
    lost: () => widget?.lost(),
    asking: (turn) =>
      settings.botCheck ||
      settings.context ||
      settings.images ||
      settings.preset ||
      seat.tools ||
      isClick(turn)
        ? answer.load().then((loaded) => loaded?.asking(turn))
        : undefined,
  });
  if (store.isNew) await transport.find(settings.preset);
  const { turns, session } = store.read();
  const restoring = turns.length > 0 || session ? await answer.load() : undefined;
  if (transport.chat) await restoring?.restore(transport.chat, store, owner);
  // A chat inside the page has no launcher, unless it cannot be put there.
  if (!launcher.isConnected && !(await mounted(host, seat))) host.shadowRoot?.append(launcher);
  if (!host.isConnected) return undefined;
  const suggestions = readSuggestions(settings.suggestions);
  const useAnswer: UseAnswer = (...use) => answer.use(...use);
  const loadAnswer = async () => (await answer.load())?.loaded();
  const surface = { host, launcher, texts, options, suggestions, useAnswer };
  widget = new Widget({ ...surface, store, owner, transport, loadAnswer });
  const logo = textOf(settings.logo);
  if (logo) showLogo(host.shadowRoot, logo);
  return widget;
}

/** Moves the widget into the element of `data-mount`. Returns whether that was done. */
async function mounted({ shadowRoot }: Host, { fetch, settings }: Seat): Promise<boolean> {
  const module = await fetch<MountModule>("mount", MOUNT_INTEGRITY).catch(() => undefined);
  return !!module && !!shadowRoot && module.default(shadowRoot, `${settings.mount}`);
}

function lazyAnswer(
  host: Host,
  seat: Seat,
  texts: Texts,
  coming: Coming,
  speak: (text: string) => void,
): Lazy<AnswerPart> {
  let first: Coming["module"] | undefined = coming.module;
  return new Lazy(async () => {
    const fetched = first ?? seat.fetch<AnswerModule>("answer", ANSWER_INTEGRITY);
    first = undefined;
    const [module, further] = await Promise.all([fetched, coming.further]);
    return module.default(host.shadowRoot, { ...texts, ...further }, speak, seat);
  });
}

export type OpenModule = { readonly open: typeof open };
