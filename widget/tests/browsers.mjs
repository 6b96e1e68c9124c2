/** The browser of the tests: Chromium, or with KEFU_BROWSER=firefox the Firefox of this machine. */

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { firefox } from "playwright-core";
import { launchChromium } from "./chromium.mjs";

export const IS_FIREFOX = process.env.KEFU_BROWSER === "firefox";

const NAMES = ["firefox-esr", "firefox"];

/** What Playwright cannot set in a context of Firefox: the light theme, and no animations. */
const PREFERENCES = {
  "layout.css.prefers-color-scheme.content-override": 1,
  "ui.prefersReducedMotion": 1,
};

/** A command that Playwright sends for each context, and Firefox 153 does not have. */
const UNKNOWN = "emulation.setMediaFeaturesOverride";

/** @returns {Promise<import('playwright-core').Browser>} */
export function launchBrowser() {
  return IS_FIREFOX ? launchFirefox() : launchChromium();
}

async function launchFirefox() {
  const executablePath = firefoxPath();
  if (!executablePath) throw new Error("Firefox is not installed. Try: make parts");
  const browser = await firefox.launch({
    // Stock Firefox, by WebDriver BiDi: other values of it are patched builds of Playwright.
    channel: "moz-firefox",
    executablePath,
    firefoxUserPrefs: PREFERENCES,
  });
  ignore(UNKNOWN, /** @type {any} */ (browser));
  return browser;
}

/**
 * Has Playwright not send this command. Its sessions with a browser are not part of its API.
 *
 * @param {string} command
 * @param {any} browser
 */
function ignore(command, browser) {
  const session = Object.getPrototypeOf(browser._connection.toImpl(browser)._browserSession);
  const { send } = session;
  /** @type {(method: string, parameters: object) => Promise<unknown>} */
  session.send = function (method, parameters) {
    return method === command ? Promise.resolve() : send.call(this, method, parameters);
  };
}

function firefoxPath() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const paths = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return paths.find((path) => existsSync(path));
}
