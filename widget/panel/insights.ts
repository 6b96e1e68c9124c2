/** All chats together: the numbers of a period, the questions, and the days. */

import { daysTable, plot } from "./days.ts";
import { el } from "./dom.ts";
import { it } from "./insight-texts.ts";
import { costOf, hasPrices, type Outcomes, outcomesOf, type Sums } from "./prices.ts";
import { gapsCard, questionsCard } from "./questions.ts";
import { header, scrolled, storeLines } from "./sums.ts";
import { money, percent, seconds, tool, whole } from "./texts.ts";
import { time } from "./times.ts";
import type { About, Day, Insights } from "./types.ts";

export const PERIODS = [7, 30, 90] as const;
export const PERIOD = 30;
/** The numbers after an answer, and whether more of it is good, if either is. */
const OUTCOMES: readonly { readonly name: keyof Outcomes; readonly isGood?: boolean }[] = [
  { name: "confirmed", isGood: true },
  { name: "left" },
  { name: "again", isGood: false },
  { name: "person" },
  { name: "proved", isGood: true },
];
const COUNTS = ["uses", "failures", "unsure", "asked", "approved", "declined"] as const;

export function insightsView(
  found: Insights,
  before: readonly Day[],
  days: number,
  about: About | undefined,
): HTMLElement {
  const sums = sumsOf(found.days);
  return el(
    "div",
    { className: "sums insights" },
    el(
      "header",
      { className: "head" },
      el("h2", { tabIndex: -1 }, it.insights),
      el("p", { className: "muted" }, it.lastDays(days), ` · ${it.than(days)}`),
      found.pages &&
        el(
          "p",
          { className: "muted" },
          it.learnt(whole(found.pages.count)),
          time(found.pages.made),
        ),
      periods(days),
    ),
    found.pages?.old && el("p", { className: "trouble" }, it.old),
    tiles(sums, sumsOf(before), about),
    afterAnswers(found.days, before),
    el(
      "div",
      { className: "cards" },
      gapsCard(found, sums.unanswered + sums.downs),
      questionsCard(found),
      chart(found.days, days),
    ),
    problems(found),
    found.tools.length > 0 && toolsTable(found.tools),
    daysTable(found.days, about),
    ...storeLines(about),
  );
}

export function since(days: number, now = Date.now()): string {
  return new Date(now - (days - 1) * 86_400_000).toISOString().slice(0, 10);
}

function problems({ pages }: Insights): HTMLElement | false {
  if (!pages?.problems.length) return false;
  const list = el("ul", { className: "questions" });
  for (const { page, reason } of pages.problems) {
    const address = el("span", { className: "page-url" }, el("bdi", {}, page));
    list.append(el("li", {}, address, el("span", { className: "row-facts" }, reason)));
  }
  return el("section", { className: "card" }, el("h3", {}, it.problems), list);
}

function toolsTable(tools: Insights["tools"]): HTMLElement {
  const body = el("tbody");
  for (const { tool: name, ...counts } of tools) {
    const label = name === "?" ? tool.madeUp : el("code", {}, name);
    const cells = COUNTS.map((count) => el("td", { className: "number" }, whole(counts[count])));
    body.append(el("tr", {}, el("th", { scope: "row" }, label), ...cells));
  }
  const names = [tool.tool, ...COUNTS.map((count) => tool.counts[count])];
  const table = scrolled(el("table", {}, header(names), body));
  return el(
    "section",
    { className: "tool-sums" },
    el("h3", {}, tool.tools),
    table,
    el("p", { className: "muted" }, tool.hint),
  );
}

function periods(days: number): HTMLElement {
  const node = el("nav", { className: "tools periods", ariaLabel: it.period });
  for (const one of PERIODS) {
    const current = one === days ? "true" : null;
    node.append(el("a", { href: `#insights=${one}`, ariaCurrent: current }, it.lastDays(one)));
  }
  return node;
}

function tiles(sums: Sums, before: Sums, about: About | undefined): HTMLElement {
  const node = el("dl", { className: "tiles" });
  const tile = (name: string, value: string, change?: Node | false) =>
    node.append(el("div", {}, el("dt", {}, name), el("dd", {}, value, change)));
  const share = (part: number, of: number) => (of ? percent(part / of) : "–");
  const points = (part: keyof Sums, of: keyof Sums, isGood: boolean) =>
    before[of] > 0 &&
    sums[of] > 0 &&
    changed(100 * (sums[part] / sums[of] - before[part] / before[of]), "", isGood);
  tile(it.chats, whole(sums.chats), growth(sums.chats, before.chats));
  tile(it.questions, whole(sums.turns), growth(sums.turns, before.turns));
  if (about?.has_pages || sums.unanswered) {
    const change = points("unanswered", "turns", false);
    tile(it.unanswered, share(sums.unanswered, sums.turns), change);
  }
  tile(it.failed, share(sums.errors, sums.turns), points("errors", "turns", false));
  if (about?.has_contact_form || sums.handoffs) tile(it.person, whole(sums.handoffs));
  if (sums.assistants) tile(it.assistants, whole(sums.assistants));
  tile(it.helpful, share(sums.ups, sums.ups + sums.downs));
  const mean = sums.first_words ? seconds(sums.first_word_ms / sums.first_words / 1000) : "–";
  tile(it.firstWord, mean);
  const cost = costOf(sums, about);
  if (hasPrices(about)) tile(it.cost, money(cost));
  else tile(it.tokens, whole(sums.prompt_tokens + sums.completion_tokens));
  return node;
}

/** What visitors did after an answer. Days of an earlier version, which counted no answers, are out. */
function afterAnswers(days: readonly Day[], before: readonly Day[]): HTMLElement | false {
  const [sums, former] = [days, before].map((all) =>
    sumsOf(all.filter(({ answers }) => answers > 0)),
  ) as [Sums, Sums];
  if (!sums.answers) return false;
  const node = el("dl", { className: "tiles outcomes" });
  for (const { name, isGood } of OUTCOMES) {
    const [title, meaning] = it.after[name];
    const [count, share] = [outcomesOf(sums)[name], shareOf(sums, name)];
    const change = former.answers > 0 && changed(100 * (share - shareOf(former, name)), "", isGood);
    const value = el("dd", { title: whole(count) }, percent(share), change);
    node.append(
      el("div", {}, el("dt", {}, title), value, el("dd", { className: "muted" }, meaning)),
    );
  }
  return el(
    "section",
    {},
    el("h3", {}, it.afterAnswers),
    el("p", { className: "muted" }, it.ofAnswers(whole(sums.answers))),
    node,
  );
}

function shareOf(sums: Sums, name: keyof Outcomes): number {
  return outcomesOf(sums)[name] / sums.answers;
}

function growth(now: number, before: number): Node | false {
  return before > 0 && changed((100 * (now - before)) / before, " %");
}

/** A change since the period before; `isGood`: whether more is better, if either is. */
function changed(by: number, unit: string, isGood?: boolean): Node | false {
  const rounded = Math.round(by);
  if (!rounded) return false;
  const kind = isGood === undefined ? "" : by > 0 === isGood ? "good" : "worse";
  const sign = rounded > 0 ? "+" : "−";
  return el(
    "span",
    { className: `change-by ${kind}` },
    `${sign}${whole(Math.abs(rounded))}${unit}`,
  );
}

function chart(days: readonly Day[], period: number): HTMLElement {
  const name = el("h3", {}, it.perDay);
  const legend = el("p", { className: "legend" });
  legend.append(
    el("span", { className: "k-stream" }, it.chats),
    el("span", { className: "k-bad" }, it.wrong),
  );
  return el("section", { className: "card wide-card" }, name, plot(days, period), legend);
}

function sumsOf(days: readonly Day[]): Sums {
  const names = [
    ...["turns", "errors", "prompt_tokens", "completion_tokens", "chats", "unanswered"],
    ...["ups", "downs", "handoffs", "first_words", "first_word_ms", "assistants"],
    ...["answers", "again", "proved"],
  ] as (keyof Sums)[];
  const sum = (name: keyof Sums) => days.reduce((all, day) => all + day[name], 0);
  return Object.fromEntries(names.map((name) => [name, sum(name)])) as unknown as Sums;
}
