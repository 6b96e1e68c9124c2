/**
 * The tip beside the launcher, for sites with `data-tip`: shown once a visit, at the moment that
 * `data-tip-when` names.
 *
 * Nothing is stored before the visitor acts. A page knows only by its referrer that the tip was
 * shown before. After a use of the tip or the launcher, the session storage says so.
 */

import type { Feature, Kit } from "../../answer/feature.ts";
import { adopt, button, element, takeOut } from "../../open/view/dom.ts";
import { CLOSE, icon } from "../../open/view/icons.ts";
import { type Settings, textOf } from "../../settings.ts";
import stylesheet from "./tip.css";

/** In English: the label of the button that removes the tip beside the launcher. */
export const ENGLISH = { dismiss: "Dismiss" };

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<typeof ENGLISH> {}
}

/** In the session storage, after the visitor has acted. */
const KEY = "kefu-chat:tip";
const DEFAULT_SECONDS = 5;

export interface Moment {
  /** Seconds after the chat was loaded; undefined: at no time by itself. */
  readonly seconds: number | undefined;
  /** The part of the page that must be scrolled; undefined: none. */
  readonly scrolled: number | undefined;
  /** The paths of the pages with the tip, `*` at the end for any rest. Empty for all pages. */
  readonly paths: readonly string[];
}

/** Reads a setting such as `8s 50% /pricing*`; other words are ignored. */
export function momentOf(setting: string): Moment {
  const words = setting.split(/[\s,]+/);
  const [seconds, percent] = [/^([\d.]+)s$/, /^([\d.]+)%$/].map((unit) => {
    const [found] = words.flatMap((word) => unit.exec(word)?.[1] ?? []);
    return found === undefined ? undefined : Number(found) || 0;
  });
  return {
    seconds: seconds ?? (percent === undefined ? DEFAULT_SECONDS : undefined),
    scrolled: percent === undefined ? undefined : Math.min(percent / 100, 1),
    paths: words.filter((word) => word.startsWith("/")),
  };
}

export function isMeant({ paths }: Moment, path: string): boolean {
  const isLike = (pattern: string): boolean =>
    pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
  return paths.length === 0 || paths.some(isLike);
}

export default function tip({ root, settings, texts }: Kit): Feature {
  const { dismiss } = { ...ENGLISH, ...texts };
  return { started: () => root && showTip(root, settings, dismiss) };
}

/** Shows the tip in `root` at its moment, unless the visitor has seen it or uses the chat. */
function showTip(root: ShadowRoot, settings: Settings, dismiss: string): void {
  const page = root.ownerDocument.defaultView;
  const launcher = root.querySelector<HTMLElement>(".launcher");
  const moment = momentOf(textOf(settings.tipWhen) ?? "");
  if (!page || !launcher || !isMeant(moment, page.location.pathname)) return;
  if (wasShown(page, moment) || isStored(page)) return;
  const gone = new AbortController();
  const node = element("div", { className: "tip", role: "status" });
  const end = (): void => {
    gone.abort();
    takeOut(node);
  };
  const remember = (): void => {
    if (settings.persist !== "none") store(page);
    end();
  };
  const close = (): void => {
    const hasFocus = node.contains(root.activeElement);
    remember();
    if (hasFocus) launcher.focus();
  };
  const show = (): void => {
    const isUsed = launcher.ariaExpanded === "true" || root.querySelector(".turn");
    if (isUsed || node.isConnected || gone.signal.aborted) return;
    // A status is announced if its text comes after the element.
    const isRight = launcher.getBoundingClientRect().x * 2 > page.innerWidth;
    node.style[isRight ? "right" : "left"] = "72px";
    launcher.before(node);
    node.append(
      button({ className: "say", dir: "auto" }, () => launcher.click(), `${settings.tip}`),
      button({ className: "hide", ariaLabel: dismiss, title: dismiss }, close, icon(CLOSE)),
    );
  };
  adopt(root, stylesheet);
  node.onkeydown = ({ key }) => key === "Escape" && close();
  launcher.addEventListener("click", remember, gone);
  root.host.addEventListener("chat-widget:open", end, gone);
  const { seconds, scrolled } = moment;
  if (seconds !== undefined) page.setTimeout(show, seconds * 1_000);
  if (scrolled === undefined) return;
  const look = (): void => {
    const { scrollHeight, clientHeight, scrollTop } = page.document.documentElement;
    if (scrollTop >= (scrollHeight - clientHeight) * scrolled) show();
  };
  page.addEventListener("scroll", look, { passive: true, signal: gone.signal });
  look();
}

/** Whether an earlier page of this visit, or this page before its reload, had the same tip. */
function wasShown(page: Window, moment: Moment): boolean {
  const [entry] = page.performance.getEntriesByType("navigation");
  const { type } = (entry ?? {}) as Partial<PerformanceNavigationTiming>;
  if (type === "reload" || type === "back_forward") return true;
  const { referrer } = page.document;
  if (!referrer) return false;
  const { origin, pathname } = new URL(referrer);
  return origin === page.location.origin && isMeant(moment, pathname);
}

function isStored(page: Window): boolean {
  try {
    return page.sessionStorage.getItem(KEY) !== null;
  } catch {
    return false;
  }
}

function store(page: Window): void {
  try {
    page.sessionStorage.setItem(KEY, "1");
  } catch {
    // Storage is blocked or full.
  }
}
