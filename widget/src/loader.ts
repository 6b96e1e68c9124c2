/**
 * The loader: draws the launcher, and fetches the chat when the visitor or the page's scripts need it.
 * Calls of the page's scripts are queued until then, and run in their order.
 *
 * The loader has to stay small, so code that the chat can run belongs there.
 */

import { textsOf } from "./dictionaries.ts";
import { CHAT, drawing } from "./drawing.ts";
import { type Acts, type ChatWidget, WAITING } from "./handle.ts";
import { isKeptOpen } from "./kept-open.ts";
import { languageOf } from "./languages.ts";
import stylesheet from "./launcher.css";
import { partsOf } from "./parts.ts";
import { HOST_TAG, type Host, type Seat } from "./seat.ts";
import { isOn, lookOf, settingsOf, USABLE } from "./settings.ts";

declare global {
  interface Window {
    ChatWidget?: ChatWidget;
    ChatWidgetConfig?: unknown;
  }
}

/** Creates the chat in its `host`. Rejects if that is not possible now. */
export type Bring = (host: Host, seat: Seat) => Promise<unknown>;

/** One function without helpers, because each further function makes the file larger. */
export function start(bring: Bring): void {
  // The script may be included twice, or again by a single-page app: the first widget stays.
  if (document.querySelector(HOST_TAG)) return;
  try {
    // A page that replaces its whole document removes the element, but not the listeners.
    window.ChatWidget?.destroy();
  } catch {
    // `window.ChatWidget` may be a form of the page with that name.
  }
  // Null for a module script: then the tag is found by its attributes. A form may have that name, too.
  const current = document.currentScript as HTMLScriptElement | null;
  const script =
    current?.noModule === false
      ? current
      : document.querySelector<HTMLScriptElement>("script[data-api-url]");
  const settings = settingsOf(window.ChatWidgetConfig, script);
  const address = document.createElement("a");
  // "//" is an invalid address, so that a missing setting does not become the page's own address.
  address.href = (settings.apiUrl as string) || "//";
  if (!USABLE.test(address.href)) {
    console.error("Chat widget: data-api-url must be https");
    return;
  }
  const host: Host = document.createElement(HOST_TAG);
  const launcher = document.createElement("button");
  /** The calls that wait for the chat. */
  const calls: (() => void)[] = [];
  let chat: Acts | undefined;
  let isComing = false;

  const send = (): void => {
    if (isComing) return;
    isComing = true;
    // At the same time as the chat: the visitor waits once for both.
    seat.texts ??= textsOf(languageOf(wanted), script?.src);
    bring(host, seat).catch(() => {
      isComing = false;
      // After a mere movement of the pointer, a failure is not shown: the visitor has asked for nothing.
      if (!calls.splice(0)[0]) return;
      launcher.setCustomValidity("Chat did not load");
      launcher.reportValidity();
    });
  };
  const handle = {
    destroy() {
      chat?.destroy();
      host.remove();
      if (window.ChatWidget === handle) delete window.ChatWidget;
    },
    context(facts) {
      (settings as { context: unknown }).context = facts;
    },
    tools(given) {
      seat.tools = given;
    },
    on(name, told) {
      const heard = (event: Event): void => told((event as CustomEvent).detail);
      const type = `chat-widget:${name}`;
      host.addEventListener(type, heard);
      return () => host.removeEventListener(type, heard);
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
  const fetch = partsOf(host, script);
  const seat: Seat = { launcher, settings, apiUrl: address.href, script, fetch, take };
  host.kefu = seat;

  // TypeScript does not know that a text can be assigned to a DOMTokenList.
  (launcher as { part: unknown }).part = launcher.className = "launcher";
  // The label until the translated texts are loaded: a word that most languages know.
  launcher.ariaLabel = "Chat";
  launcher.append(drawing(CHAT));
  launcher.onclick = () => handle.open();
  launcher.onpointerenter = launcher.onfocus = send;

  const sheet = new CSSStyleSheet();
  const wanted = [settings.lang, document.documentElement.lang, ...navigator.languages];
  sheet.replaceSync(stylesheet + lookOf(settings, wanted.find(Boolean)));
  const shadow = host.attachShadow({ mode: "open" });
  shadow.adoptedStyleSheets = [sheet];
  // Next to the body: a transform or filter on the body would move elements with a fixed position.
  document.documentElement.append(host);
  window.ChatWidget = handle;
  // A chat inside the page has no launcher, and is fetched at once.
  if (settings.mount) send();
  else shadow.append(launcher);
  // Not during the load of the page: the first access to storage waits for another process.
  setTimeout(() => {
    try {
      // The files of the tip and of WebMCP are fetched by the chat.
      if (
        isOn(settings.open) ||
        settings.tip ||
        settings.webmcp ||
        isKeptOpen(window, address.href, settings.persist)
      )
        send();
    } catch {
      // The page has no storage.
    }
  });
}
