/** How often a visitor waits for the network before the panel is whole: once, in every set-up (W16). */

import type { Route } from "playwright-core";
import { expect, test } from "vitest";
import { pageWith } from "../site.ts";
import { pause, stage } from "./harness.ts";

const it = stage();

const LOGO = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><rect width="64" height="64"/></svg>',
)}`;

/** What sites set, each in English and in Chinese. */
const SETUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  plain: {},
  suggestions: { "data-suggestions": "Do you ship?|Can I return it?" },
  "consent and logo": { "data-consent": "I agree to the terms.", "data-logo": LOGO },
  "contact and tip": { "data-contact": "", "data-tip": "Questions?", "data-tip-when": "600s" },
};
const TITLES = { en: "Chat with us", "zh-CN": "在线客服" };

/** After this time without another request, nothing more is asked for before something arrives. */
const QUIET_MS = 500;
const PATIENCE_MS = 15_000;

for (const [name, attributes] of Object.entries(SETUPS)) {
  for (const [lang, title] of Object.entries(TITLES)) {
    test(`${lang}, ${name}: the panel is whole after one wave of requests (W16)`, async () => {
      const visit = await it.glance(
        it.site.page("/blank", '<!doctype html><title>A</title><link rel="icon" href="data:,">'),
      );
      const held: Route[] = [];
      await visit.page.route(/chat-widget-/, (route) => void held.push(route));
      const all = { "data-api-url": it.service.url, "data-lang": lang, ...attributes };
      await visit.page.goto(it.site.page("/shop", pageWith(all)));
      await visit.launcher.click();
      const isWhole = () => visit.page.evaluate(isPanelWhole, { title, ...wantedOf(attributes) });
      expect(await wavesUntil(isWhole, held)).toBe(1);
      expect(visit.errors).toEqual([]);
    });
  }
}

/** Lets all waiting requests through at once, again and again. Returns how often that was needed. */
async function wavesUntil(isWhole: () => Promise<boolean>, held: Route[]): Promise<number> {
  for (let waves = 0; waves < 9; ) {
    const until = performance.now() + PATIENCE_MS;
    while (performance.now() < until && (waves > 0 || held.length === 0)) {
      if (await isWhole()) return waves;
      await pause(20);
    }
    await pause(QUIET_MS);
    waves += 1;
    await Promise.all(held.splice(0).map((route) => route.continue()));
  }
  return Number.POSITIVE_INFINITY;
}

interface Wanted {
  readonly title: string;
  readonly pills: number;
  readonly hasConsent: boolean;
  readonly hasLogo: boolean;
}

function wantedOf(attributes: Readonly<Record<string, string>>): Omit<Wanted, "title"> {
  return {
    pills: attributes["data-suggestions"]?.split("|").length ?? 0,
    hasConsent: "data-consent" in attributes,
    hasLogo: "data-logo" in attributes,
  };
}

/** Runs in the page. The styles count, too: pills are drawn by those of the first file. */
function isPanelWhole({ title, pills, hasConsent, hasLogo }: Wanted): boolean {
  const root = document.querySelector("kefu-chat")?.shadowRoot;
  const shown = (selector: string): HTMLElement[] =>
    [...(root?.querySelectorAll<HTMLElement>(selector) ?? [])].filter((node) =>
      node.checkVisibility(),
    );
  return (
    shown(".panel h2")[0]?.textContent === title &&
    shown(".pill").filter((pill) => getComputedStyle(pill).borderRadius !== "0px").length ===
      pills &&
    shown(".consent").length === Number(hasConsent) &&
    shown(".head .logo img").length === Number(hasLogo)
  );
}
