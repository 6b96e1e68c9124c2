/** Times such as "2 min ago", which keep up with the clock. */

import { el } from "./dom.ts";
import { isChinese, moment } from "./texts.ts";

const REFRESH_MS = 20_000;
const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;
/** Older times are shown as dates. */
const WEEK = 7 * 86_400;

const locale = isChinese ? "zh-CN" : "en";
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
const dated = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });

export function ago(unix: number, now = Date.now() / 1000): string {
  const seconds = Math.max(0, now - unix);
  if (seconds >= WEEK) return dated.format(unix * 1000);
  for (const [unit, length] of UNITS) {
    if (seconds >= length) return relative.format(-Math.floor(seconds / length), unit);
  }
  return relative.format(0, "second");
}

export function time(unix: number): HTMLElement {
  const at = new Date(unix * 1000).toISOString();
  return el("time", { dateTime: at, title: moment(unix) }, ago(unix));
}

/** The time of a message: after a day its date and hour. */
export function timeOfDay(unix: number): HTMLElement | string {
  return Date.now() / 1000 - unix < 86_400 ? time(unix) : moment(unix);
}

/** Updates all times of the page, from now on. */
export function keepTime(): void {
  setInterval(() => {
    for (const node of document.querySelectorAll("time")) {
      const text = ago(Date.parse(node.dateTime) / 1000);
      if (text !== node.textContent) node.textContent = text;
    }
  }, REFRESH_MS);
}
