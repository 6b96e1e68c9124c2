/** The lists of questions: the gaps first, because they make an owner act. */

import { commentOf } from "./comment.ts";
import { csv, csvFile } from "./csv.ts";
import { button, el, svg } from "./dom.ts";
import { it } from "./insight-texts.ts";
import { download } from "./save.ts";
import { whole } from "./texts.ts";
import { time } from "./times.ts";
import type { Group, Insights } from "./types.ts";

/** The comments that a list shows for a question; the CSV file has more. */
const SHOWN = 3;

/** The line above the list. `counted`: the questions of the period that were gaps on their day. */
export function gapsText({ gaps, gaps_whole }: Insights, counted: number): string {
  if (gaps.length) return gaps_whole ? it.gapsHint : `${it.gapsHint} ${it.gapsNewest}`;
  if (!gaps_whole) return it.noGapsNewest;
  return counted ? it.noGapsLeft : it.noGaps;
}

export function gapsCard(found: Insights, counted: number): HTMLElement {
  const { gaps } = found;
  const save = () => download(csvFile(groupsCsv(gaps)), "kefu-not-answered.csv");
  const node = el(
    "section",
    { className: "card gaps" },
    el("h3", {}, it.gaps, gaps.length > 0 && button({ className: "quiet save" }, save, it.csv)),
    el("p", { className: "muted" }, gapsText(found, counted)),
  );
  if (!gaps.length) return node;
  const list = el("ol", { className: "questions" });
  for (const one of gaps) {
    const facts = el("span", { className: "row-facts" });
    for (const reason of one.reasons) {
      facts.append(el("span", { className: "status" }, it.reason[reason] ?? reason));
    }
    facts.append(`${it.times(whole(one.times))} · `, time(one.at));
    const comments = one.comments.slice(0, SHOWN).map(commentOf);
    list.append(el("li", {}, question(one), facts, ...comments));
  }
  node.append(list);
  return node;
}

export function questionsCard({ questions, read, is_whole }: Insights): HTMLElement {
  const save = () => download(csvFile(groupsCsv(questions)), "kefu-questions.csv");
  const node = el(
    "section",
    { className: "card asked" },
    el(
      "h3",
      {},
      it.asked,
      questions.length > 0 && button({ className: "quiet save" }, save, it.csv),
    ),
    el("p", { className: "muted" }, (is_whole ? it.askedHint : it.askedNewest)(whole(read))),
  );
  const most = Math.max(1, ...questions.map(({ times }) => times));
  const list = el("ol", { className: "questions" });
  for (const one of questions) {
    const bar = svg("svg", { class: "meter", viewBox: "0 0 100 6", preserveAspectRatio: "none" });
    bar.setAttribute("aria-hidden", "true");
    bar.append(
      svg("rect", { class: "ground", width: 100, height: 6 }),
      svg("rect", { class: "stream", width: (100 * one.times) / most, height: 6 }),
    );
    const count = el("span", { className: "row-facts" }, bar, it.times(whole(one.times)));
    list.append(el("li", {}, question(one), count));
  }
  if (questions.length) node.append(list);
  return node;
}

function question(one: Group): HTMLElement {
  const text = one.question.replace(/\s+/g, " ").trim();
  return el("a", { href: `#s=${one.session_id}` }, el("bdi", {}, text));
}

export function groupsCsv(groups: readonly Group[]): string {
  const head = [it.count, it.question, it.reasons, it.last, it.chat, it.comments];
  return csv(
    head,
    groups.map((one) => [
      one.times,
      one.question,
      one.reasons.join("; "),
      new Date(one.at * 1000).toISOString(),
      one.session_id,
      one.comments.join("; "),
    ]),
  );
}
