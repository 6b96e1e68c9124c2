/** What an operator knows of the case: the visitor, their consent, and the answers made of the talk. */

import { at } from "./answer-texts.ts";
import { copyButton } from "./copy.ts";
import { button, type Child, el } from "./dom.ts";
import { it } from "./insight-texts.ts";
import { askedFirst } from "./removal.ts";
import { Rows } from "./rows.ts";
import type { Writing } from "./state/answers.ts";
import type { Talk } from "./state/chat.ts";
import type { Store } from "./state/store.ts";
import { clock, t, tool } from "./texts.ts";
import type { Call, Message, Whole, WrittenAnswer } from "./types.ts";
import { type WritingActs, writingDialog } from "./writing.ts";

export interface AnswerActs extends WritingActs {
  /** Begins an answer: to a question, or without one from what persons wrote in the chat. */
  write(question?: string): void;
  withdraw(id: string): void;
}

/** `talk`, `answers`: absent for a file, or where no answer would be found. */
export function sideView(
  kept: Whole,
  talk: Store<Talk> | undefined,
  answers: AnswerActs | undefined,
): HTMLElement {
  const facts = factsOf(kept);
  const node = el("section", { className: "side", ariaLabel: t.case });
  if (facts.length) node.append(el("h3", {}, t.case), el("dl", { className: "case" }, ...facts));
  if (talk && answers) node.append(known(kept, talk, answers), writingDialog(answers));
  return node;
}

function factsOf({ session, messages, calls, requests }: Whole): HTMLElement[] {
  const form = requests?.findLast(({ consent }) => consent);
  const page = pageOf(calls);
  const steps = messages.flatMap((one) => one.steps ?? []);
  const done = steps.filter(({ state }) => state !== "asked");
  const fact = (name: string, ...value: Child[]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, ...value));
  return [
    session.user && fact(it.user, el("bdi", {}, session.user)),
    form && fact(t.consent, `${clock(form.created_at)}: `, el("q", { dir: "auto" }, form.consent)),
    page && fact(t.page, el("bdi", {}, page)),
    done.length > 0 && fact(tool.steps, stepsOf(done)),
  ].filter((one) => one instanceof HTMLElement);
}

function stepsOf(steps: NonNullable<Message["steps"]>): HTMLElement {
  const state = (name: string) => tool.state[name] ?? name;
  const items = steps.map((one) =>
    el("li", {}, el("bdi", {}, one.title || one.name), ` · ${state(one.state)}`),
  );
  return el("ul", {}, ...items);
}

/** The page on which the newest of `calls` was asked; "" if it is not known. */
export function pageOf(calls: readonly Call[]): string {
  return Object.values(calls.findLast(({ meta }) => meta.page)?.meta.page ?? {}).join(" · ");
}

/** Whether the site's pages did not answer the question of `calls`. */
export function isUnanswered(calls: readonly Call[]): boolean {
  return calls.some(({ meta }) => meta.knowledge?.answered === false && !meta.purpose);
}

function known({ messages, calls }: Whole, talk: Store<Talk>, answers: AnswerActs): HTMLElement {
  const open = messages.findLast(
    ({ id, role }) => role === "user" && isUnanswered(calls.filter((one) => one.message_id === id)),
  )?.content;
  const hint = el("p", { className: "muted" });
  const act = () => answers.write(hasLines(talk.get()) ? undefined : open);
  const write = button({ className: "accent" }, act, at.write);
  const offer = el("div", { className: "offer" }, hint, write);
  const hasLines = ({ fresh }: Talk) => [...messages, ...fresh].some(({ operator }) => operator);
  talk.follow((now) => {
    hint.textContent = hasLines(now) || !open ? at.ofTalk : at.notOnPages(short(open));
    offer.hidden = !hasLines(now) && !open;
  });
  const made = el("ul", { className: "made" });
  const rows = new Rows<WrittenAnswer>(made, (one) => row(one, answers));
  const title = el("h3", {}, at.known);
  const trouble = el("p", { className: "trouble", role: "alert" });
  const node = el("div", { className: "known" }, title, offer, made, trouble);
  const draw = ({ made: all, draft, trouble: why }: Writing) => {
    rows.draw(all);
    // While the dialog is open, it has the reason.
    trouble.textContent = draft ? "" : why;
    title.hidden = offer.hidden && all.length === 0;
  };
  answers.writing.follow(draw);
  talk.listen(() => draw(answers.writing.get()));
  return node;
}

function row(answer: WrittenAnswer, answers: AnswerActs): HTMLElement {
  return el(
    "li",
    {},
    el("strong", { dir: "auto" }, answer.question),
    el("p", { className: "muted", dir: "auto" }, answer.cited_as),
    el(
      "div",
      { className: "tools" },
      copyButton(at.copyCase, () => `${JSON.stringify(answer.case)}\n`),
      ...askedFirst(at.withdraw, at.withdrawSure, () => answers.withdraw(answer.id)),
    ),
  );
}

function short(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}
