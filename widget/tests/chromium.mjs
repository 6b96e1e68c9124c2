/** Finds a Chromium on this machine and starts it without anything it would do by itself. */

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

/** The first one needs two thirds of the processor time of the others, which draw a window, too. */
const NAMES = [
  "chromium-headless-shell",
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
];

/** Chromium uses only the last of these flags, so the values of Playwright are repeated. */
const WITHOUT = [
  // Every new context would load them, for an invisible address bar: half of the test's work.
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "ThirdPartyStoragePartitioning",
];

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  `--disable-features=${WITHOUT}`,
];

/**
 * CHROMIUM, else one on the path; undefined leaves it to Playwright's own, if it was downloaded.
 *
 * @returns {string | undefined}
 */
export function chromiumPath() {
  const named = process.env.CHROMIUM;
  if (named) return named;
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of NAMES) {
      const path = join(folder, name);
      if (existsSync(path)) return path;
    }
  }
  return undefined;
}

/**
 * `flags`: further ones.
 *
 * @param {...string} flags
 * @returns {Promise<import('playwright-core').Browser>}
 */
export function launchChromium(...flags) {
  const executablePath = chromiumPath();
  return chromium.launch({
    args: [...FLAGS, ...flags],
    ...(executablePath === undefined ? {} : { executablePath }),
  });
}
