/**
 * What a page loads: it draws the launcher, and sends for the chat when a visitor shows interest,
 * or the page's own scripts do. What they ask for until then is kept, and done in its order.
 *
 * All of it has to stay below 1.5 KB; whatever can wait for the chat is done there.
 */

import { type Acts, type ChatWidget, WAITING } from "./handle.ts";
import { HOST_TAG, type Host } from "./seat.ts";
import { isOn, isUsable, lookOf, settingsOf } from "./settings.ts";
import { isKeptOpen } from "./store.ts";
import { CHAT, drawing } from "./view/drawing.ts";
import stylesheet from "./view/launcher.css";

declare global {
  interface Window {
    ChatWidget?: ChatWidget;
    ChatWidgetConfig?: unknown;
  }
}

/** Brings the chat to its `host`; `failed` is called when that cannot be done now. */
export type Bring = (host: Host, script: HTMLScriptElement | null, failed: () => void) => void;

/** One function, and flat: each further one costs as much as a line of what it does. */
export function start(bring: Bring): void {
  // Included twice, or again by a single-page app: the first one stays.
  if (document.querySelector(HOST_TAG)) return;
  try {
    // A page that threw its whole document away took the element, not what listens.
    window.ChatWidget?.destroy();
  } catch {
    // A form of the page that has this name.
  }
  // Null for a module: then the tag is looked for by what it says. A form may have that name, too.
  const current = document.currentScript as HTMLScriptElement | null;
  const script =
    current?.noModule === false
      ? current
      : document.querySelector<HTMLScriptElement>("script[data-api-url]");
  const settings = settingsOf(window.ChatWidgetConfig, script);
  const address = document.createElement("a");
  // Two slashes are no address, neither of this page nor of another.
  address.href = (settings.apiUrl as string) || "//";
  if (!isUsable(address.href)) {
    console.error("Chat widget: data-api-url must be https");
    return;
  }
  const host: Host = document.createElement(HOST_TAG);
  const launcher = document.createElement("button");
  /** What was asked for before there was a chat. */
  const calls: (() => void)[] = [];
  let chat: Acts | undefined;
  let isComing = false;

  const send = (): void => {
    if (isComing) return;
    isComing = true;
    bring(host, script, () => {
      isComing = false;
      // Nobody waits for what the pointer alone has asked for.
      if (!calls.splice(0)[0]) return;
      launcher.setCustomValidity("The chat did not load");
      launcher.reportValidity();
    });
  };
  const handle = {
    destroy() {
      chat?.destroy();
      host.remove();
      if (window.ChatWidget === handle) delete window.ChatWidget;
    },
    on(name, told) {
      const heard = (event: Event): void => told((event as CustomEvent).detail);
      const gone = new AbortController();
      host.addEventListener(`chat-widget:${name}`, heard, gone);
      return () => gone.abort();
    },
  } as ChatWidget;
  for (const name of WAITING) {
    handle[name] = (text?: unknown) => {
      if (chat) chat[name](`${text}`);
      else {
        calls.push(() => handle[name](text as string));
        send();
      }
    };
  }
  const take = (arrived: Acts): void => {
    chat = arrived;
    for (const call of calls) call();
  };
  host.kefu = [launcher, settings, address.href, script, take];

  launcher.className = "launcher";
  // TypeScript does not know that a list of tokens can be assigned a text.
  (launcher as { part: unknown }).part = "launcher";
  // Until the chat is there with its words: one that most languages know.
  launcher.ariaLabel = "Chat";
  launcher.append(drawing(CHAT));
  launcher.onclick = () => handle.open();
  launcher.onpointerenter = launcher.onfocus = send;

  const sheet = new CSSStyleSheet();
  const language = settings.lang || document.documentElement.lang || navigator.language;
  sheet.replaceSync(stylesheet + lookOf(settings, language));
  const shadow = host.attachShadow({ mode: "open" });
  shadow.adoptedStyleSheets = [sheet];
  shadow.append(launcher);
  // Beside the body: a transform or filter there would move what is fixed.
  document.documentElement.append(host);
  window.ChatWidget = handle;
  // Not while the page loads: the first look into its storage waits for another process.
  setTimeout(() => {
    try {
      if (isOn(settings.open) || isKeptOpen(window, address.href, settings.persist)) send();
    } catch {
      // A page without storage.
    }
  });
}
