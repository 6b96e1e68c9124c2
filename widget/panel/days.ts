/** The days of the insights: a picture, and a table with all numbers. */

import { csv, csvFile } from "./csv.ts";
import { button, el, svg } from "./dom.ts";
import { it } from "./insight-texts.ts";
import { costOf, hasPrices, outcomesOf } from "./prices.ts";
import { download } from "./save.ts";
import { header, scrolled } from "./sums.ts";
import { money, seconds, t, whole } from "./texts.ts";
import type { About, Day } from "./types.ts";

const WIDTH = 600;
const HEIGHT = 118;
const GROUND = 130;

/** A bar for each day: its chats, and its questions that were not answered or failed. */
export function plot(days: readonly Day[], period: number, now = new Date()): SVGElement {
  const most = days.reduce((one, day) => Math.max(one, day.chats, wrongOf(day)), 1);
  const today = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  const node = svg("svg", {
    class: "plot",
    viewBox: `0 0 ${WIDTH} 150`,
    role: "img",
    "aria-label": described(days, period),
  });
  node.append(svg("line", { class: "axis", x1: 0, x2: WIDTH, y1: 130.5, y2: 130.5 }));
  const step = WIDTH / period;
  const width = Math.max(2, step * 0.7);
  for (const day of days) {
    const ago = Math.round((today - Date.parse(day.date)) / 86_400_000);
    const x = step * (period - 1 - ago) + (step - width) / 2;
    if (x < 0 || x > WIDTH) continue;
    const bar = (kind: string, n: number) => {
      const height = (HEIGHT * n) / most;
      return svg("rect", { class: kind, x, y: GROUND - height, width, height, rx: 2 });
    };
    const label = it.bar(day.date, whole(day.chats), whole(wrongOf(day)));
    const bars = [bar("stream", day.chats), bar("failed", wrongOf(day))];
    node.append(svg("g", {}, svg("title", {}, label), ...bars));
  }
  for (const [x, anchor, ago] of [
    [0, "start", period - 1],
    [WIDTH / 2, "middle", Math.floor(period / 2)],
    [WIDTH, "end", 0],
  ] as const) {
    const date = new Date(today - ago * 86_400_000).toISOString().slice(5, 10);
    node.append(svg("text", { x, y: 146, "text-anchor": anchor }, date));
  }
  node.append(svg("text", { x: 0, y: 10 }, whole(most)));
  return node;
}

function described(days: readonly Day[], period: number): string {
  const sum = days.reduce((all, day) => all + day.chats, 0);
  const wrong = days.reduce((all, day) => all + wrongOf(day), 0);
  const best = days.reduce<Day | undefined>(
    (one, day) => (one && one.chats >= day.chats ? one : day),
    undefined,
  );
  if (!best) return t.noDays;
  return it.plot(period, whole(sum), whole(best.chats), best.date, whole(wrong));
}

function wrongOf(day: Day): number {
  return day.unanswered + day.errors;
}

export function daysTable(days: readonly Day[], about: About | undefined): HTMLElement {
  if (!days.length) return el("p", {}, t.noDays);
  const priced = hasPrices(about);
  const names = [
    ...[it.day, it.chats, it.questions, it.answered, it.unanswered, it.failed, it.ups, it.downs],
    ...[it.person, it.firstWord, it.tokens, ...(priced ? [it.cost] : [])],
  ];
  const body = el("tbody");
  for (const day of days.toReversed()) {
    const [first, ...cells] = cellsOf(day, priced ? about : undefined);
    body.append(
      el(
        "tr",
        {},
        el("th", { scope: "row" }, first),
        ...cells.map((text) => el("td", { className: "number" }, text)),
      ),
    );
  }
  const save = () => download(csvFile(daysCsv(days, about)), "kefu-days.csv");
  return el(
    "section",
    {},
    el("h3", {}, it.byDay, button({ className: "quiet save" }, save, it.csv)),
    scrolled(el("table", {}, header(names), body)),
  );
}

function cellsOf(day: Day, about: About | undefined): string[] {
  const counts = [day.chats, day.turns, answeredOf(day), day.unanswered, day.errors];
  const others = [day.ups, day.downs, day.handoffs];
  const first = day.first_words ? seconds(day.first_word_ms / day.first_words / 1000) : "–";
  const tokens = whole(day.prompt_tokens + day.completion_tokens);
  const cost = about ? [money(costOf(day, about))] : [];
  return [day.date, ...[...counts, ...others].map(whole), first, tokens, ...cost];
}

function answeredOf(day: Day): number {
  return Math.max(0, day.turns - day.unanswered - day.errors);
}

/** The plain names of the API, for programs. Times are in milliseconds. */
export function daysCsv(days: readonly Day[], about: About | undefined): string {
  const names = [
    ...["date", "chats", "questions", "answered", "not_answered", "failed", "rated_up"],
    ...["rated_down", "asked_for_a_person", "first_word_ms", "prompt_tokens", "completion_tokens"],
    ...["answers", "left", "asked_again", "proved"],
  ];
  const priced = hasPrices(about);
  const rows = days.map((day) => [
    ...[day.date, day.chats, day.turns, answeredOf(day), day.unanswered, day.errors],
    ...[day.ups, day.downs, day.handoffs],
    day.first_words ? Math.round(day.first_word_ms / day.first_words) : "",
    ...[day.prompt_tokens, day.completion_tokens],
    ...[day.answers, outcomesOf(day).left, day.again, day.proved],
    ...(priced ? [Number(costOf(day, about).toPrecision(6))] : []),
  ]);
  return csv(priced ? [...names, "cost"] : names, rows);
}
