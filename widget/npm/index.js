/**
 * Puts the chat widget into a page: adds its script tag, which loads the widget from the service, and
 * removes it again. Importing this module does nothing, also on a server without a `window`.
 */

/** Settings that the running widget takes over; with any other change it starts again. */
const LIVE = ["userToken", "context"];

/** Settings of the tag itself; the others are its `data-*` attributes. */
const OF_THE_TAG = ["src", "integrity", "nonce"];

/** The changes of all callers, one after another: a page has only one widget. */
let changes = Promise.resolve();

/** @type {typeof import("./index.d.ts").startChat} */
export function startChat(settings) {
  /** @type {import("./index.d.ts").ChatSettings | undefined} */
  let wanted;
  /** @type {Record<string, string>} */
  let current = {};
  /** @type {HTMLScriptElement | undefined} */
  let script;
  /** @type {import("./index.d.ts").ChatWidget | undefined} */
  let widget;

  /** Brings the page to the newest wish; wishes in between are skipped. */
  async function apply() {
    const next = wanted && textsOf(wanted);
    if (next && script && startsAlike(next, current)) {
      adopt(next);
      return;
    }
    widget?.destroy();
    script?.remove();
    script = widget = undefined;
    if (!next) return;
    current = next;
    script = tagOf(next);
    const before = window.ChatWidget;
    await loaded(script);
    // The page may have a widget of its own: then the script did nothing.
    if (window.ChatWidget !== before) widget = window.ChatWidget;
  }

  /** @param {Record<string, string>} next */
  function adopt(next) {
    if (next.userToken === undefined) delete script?.dataset.userToken;
    else if (script) script.dataset.userToken = next.userToken;
    if (next.context !== current.context) widget?.context(wanted?.context);
    current = next;
  }

  /** @param {import("./index.d.ts").ChatSettings | undefined} next */
  function change(next) {
    wanted = next;
    changes = changes.then(apply).catch(reportError);
  }

  change(settings);
  return { update: change, stop: () => change(undefined) };
}

/**
 * The settings as texts, without those that are off.
 *
 * @param {object} settings
 */
function textsOf(settings) {
  /** @type {Record<string, string>} */
  const texts = {};
  for (const [name, value] of Object.entries(settings)) {
    if (value === undefined || value === null || value === false) continue;
    if (value === true) texts[name] = "";
    else texts[name] = typeof value === "object" ? JSON.stringify(value) : `${value}`;
  }
  return texts;
}

/**
 * Whether two settings differ at most in those that a running widget takes over.
 *
 * @param {Record<string, string>} one
 * @param {Record<string, string>} other
 */
function startsAlike(one, other) {
  const names = Object.keys({ ...one, ...other });
  return names.every((name) => LIVE.includes(name) || one[name] === other[name]);
}

/** @param {Record<string, string>} texts */
function tagOf(texts) {
  const script = document.createElement("script");
  for (const [name, text] of Object.entries(texts)) {
    if (!OF_THE_TAG.includes(name)) script.dataset[name] = text;
  }
  const { apiUrl = "", integrity, nonce } = texts;
  if (integrity) script.crossOrigin = "anonymous";
  if (integrity) script.integrity = integrity;
  if (nonce) script.nonce = nonce;
  // The service has its API below /api/, and the widget beside it.
  script.src = texts.src ?? new URL("../chat-widget.js", new URL(apiUrl, document.baseURI)).href;
  return script;
}

/**
 * Adds the tag to the page. Resolves when the script has run, or could not be fetched: the browser's
 * console names the reason.
 *
 * @param {HTMLScriptElement} script
 */
function loaded(script) {
  return new Promise((resolve) => {
    script.onload = script.onerror = resolve;
    document.head.append(script);
  });
}
