/** One conversation: its messages on one side, their calls on the other. */

import { answer as answerOf, sourceSwitch } from "./answer.ts";
import { at } from "./answer-texts.ts";
import { type Around, callCard, cost, tokensOf } from "./call.ts";
import { commentOf } from "./comment.ts";
import { mailLink } from "./contacts.ts";
import { copyButton } from "./copy.ts";
import { correction } from "./correction.ts";
import { button, type Child, el } from "./dom.ts";
import { it } from "./insight-texts.ts";
import { type LoadImage, picturesOf } from "./pictures.ts";
import { removal } from "./removal.ts";
import { download } from "./save.ts";
import { type AnswerActs, isUnanswered, pageOf, sideView } from "./side.ts";
import { isLive } from "./state/chat.ts";
import type { Translation } from "./state/translation.ts";
import { isClick, partsOf, stepList } from "./steps.ts";
import { type TalkActs, talkBar } from "./talk.ts";
import { isolated, moment, money, t, whole } from "./texts.ts";
import { timeOfDay } from "./times.ts";
import { translated, translateSwitch } from "./translated.ts";
import type { About, Attendance, Call, ContactRequest, Message, Whole } from "./types.ts";

/** The newest messages that are translated. */
const TRANSLATED = 20;

/** The list of sources at the end of an answer. */
const SOURCES = /\n\n(\[\d+\]: .*\n?)+$/;

export interface Acts {
  readonly about: About | undefined;
  /** The functions for a stored session; absent for a file. */
  readonly stored?: StoredActs;
}

export interface StoredActs {
  readonly talk: TalkActs;
  /** Absent where nothing is translated. */
  readonly translation?: Translation;
  exported(format: string): Promise<Blob>;
  readonly image: LoadImage;
  /** Absent if all messages are shown. */
  readonly earlier?: () => void;
  /** Absent where no answer would be found. This and the rest: absent for one who only reads. */
  readonly answers?: AnswerActs;
  readonly remove?: (wantsReceipt: boolean) => void;
  /** Marks a request for a person as done or not. Returns whether it succeeded. */
  readonly mark?: (id: string, done: boolean) => Promise<boolean>;
}

export function conversation(kept: Whole, acts: Acts): HTMLElement {
  const lines = el("div", { className: "lines" });
  const { stored } = acts;
  const side = sideView(kept, stored?.talk.state, stored?.answers);
  const node = el("div", { className: "conversation" });
  node.append(head(kept, acts, node), lines, ...(side.childElementCount ? [side] : []));
  if (!stored) lines.append(el("p", { className: "hint" }, t.logTitle));
  if (stored?.earlier) lines.append(button({ className: "pill" }, stored.earlier, t.earlier));
  const forms = [...(kept.requests ?? [])];
  const addForms = (until: number) => {
    const due = forms.filter(({ created_at }) => created_at < until);
    lines.append(...forms.splice(0, due.length).map((form) => filled(form, kept, stored)));
  };
  const answers = new Map(kept.messages.map((one) => [one.reply_to ?? one.id - 1, one]));
  for (const message of kept.messages) {
    addForms(message.created_at);
    if (message.operator) lines.append(lone(message));
    if (message.role !== "user") continue;
    const answer = answers.get(message.id);
    lines.append(turn(message, answer?.role === "assistant" ? answer : undefined, kept, acts));
  }
  addForms(Number.POSITIVE_INFINITY);
  if (stored) {
    const message = (one: Message) => lone(one, stored);
    const request = (form: ContactRequest) => filled(form, kept, stored);
    lines.append(talkBar(stored.talk, { message, request }));
  }
  return node;
}

/** What the visitor asked for with the form, and the page on which they wrote before. */
function filled(
  form: ContactRequest,
  { calls }: Whole,
  stored: StoredActs | undefined,
): HTMLElement {
  const { name, email, message, created_at } = form;
  const page = pageOf(calls.filter((call) => call.created_at <= created_at));
  return el(
    "section",
    { className: "turn", ariaLabel: t.requests },
    el(
      "div",
      { className: "bubble user asked" },
      el("p", {}, el("strong", {}, t.asksForPerson), " · ", timeOfDay(created_at)),
      message && el("bdi", { className: "text" }, message),
      message && stored?.translation && translated(message, stored.translation),
      name && el("p", {}, el("bdi", {}, name)),
      email && el("p", {}, mailLink(email)),
      page && el("p", { className: "muted" }, el("bdi", {}, page)),
      stored?.mark && doneSwitch(form, stored.mark),
    ),
  );
}

function doneSwitch(form: ContactRequest, mark: NonNullable<StoredActs["mark"]>): HTMLElement {
  let isDone = form.done_at !== null;
  const node = button({ className: "quiet" }, async () => {
    if (await mark(form.id, !isDone)) isDone = !isDone;
    draw();
  });
  const draw = () => {
    node.textContent = isDone ? t.reopen : t.done;
  };
  draw();
  return node;
}

/** A message without a call to a model. */
function lone(message: Message, stored?: StoredActs): HTMLElement {
  const label = { className: "turn", ariaLabel: `#${message.id}` };
  const shown = picturesOf(message, stored?.image);
  return el("section", label, bubble(message, stored?.translation), shown);
}

function head(kept: Whole, acts: Acts, within: HTMLElement): HTMLElement {
  const { session, messages, calls } = kept;
  const turns = messages.filter(({ role }) => role === "user").length;
  const tokens = calls.reduce((sum, one) => sum + tokensOf(one), 0);
  const isEstimate = calls.some((one) => one.prompt_tokens === null);
  const prices = calls.map((one) => Number(cost(one, acts.about)) || 0);
  const spent = prices.reduce((sum, one) => sum + one, 0);
  const facts = [
    moment(session.created_at),
    t.turns(turns),
    calls.length ? t.tokensN(`${isEstimate ? "≈ " : ""}${whole(tokens)}`) : "",
    spent ? `${t.cost} ${money(spent)}` : "",
  ];
  const node = el(
    "header",
    { className: "head" },
    el("h2", { tabIndex: -1 }, session.title || session.id),
    el("p", { className: "muted" }, facts.filter(Boolean).join(" · ")),
    el(
      "p",
      { className: "muted" },
      el("code", {}, session.id),
      session.user && el("span", {}, ` · ${it.user}: `, el("bdi", {}, session.user)),
    ),
  );
  const row = acts.stored ? tools(kept, acts.stored) : el("div", { className: "tools" });
  row.prepend(sourceSwitch(within), whySwitch(within, session.attendance));
  if (acts.stored?.translation)
    row.prepend(translateSwitch(acts.stored.translation, acts.stored.talk.operator));
  node.append(row);
  return node;
}

/** The switch for the calls to the model. They are hidden while the visitor wants a person. */
function whySwitch(node: HTMLElement, attendance: Attendance | undefined): HTMLElement {
  const control = button(
    { className: "quiet" },
    () => show(node.classList.contains("brief")),
    t.showWhy,
  );
  const show = (isShown: boolean): void => {
    node.classList.toggle("brief", !isShown);
    control.ariaPressed = String(isShown);
  };
  show(!attendance || !isLive(attendance));
  return control;
}

function tools(kept: Whole, acts: StoredActs): HTMLElement {
  const { id } = kept.session;
  const row = el(
    "div",
    { className: "tools" },
    copyButton(t.copyLink, () => linkTo(id)),
  );
  for (const format of ["json", "jsonl", "md"]) {
    const save = async () => {
      download(await acts.exported(format), `session-${id.slice(0, 8)}.${format}`);
    };
    row.append(button({ className: "quiet" }, save, `${t.export} ${format.toUpperCase()}`));
  }
  if (acts.remove) row.append(...removal(t.removeSure, acts.remove));
  return row;
}

function linkTo(id: string): string {
  return `${location.href.split("#")[0]}#s=${id}`;
}

function turn(message: Message, answer: Message | undefined, kept: Whole, acts: Acts): HTMLElement {
  const { stored } = acts;
  const calls = kept.calls.filter(({ message_id }) => message_id === message.id);
  const isNew = message.id >= (kept.messages.at(-TRANSLATED)?.id ?? 0);
  const translation = isNew ? stored?.translation : undefined;
  const said = el(
    "div",
    { className: "said" },
    bubble(message, translation),
    picturesOf(message, stored?.image),
    ...answered(message, answer, kept, translation),
  );
  if (answer && stored && !isClick(message)) {
    const after = el("div", { className: "after" }, correction(kept, message));
    const write = () => stored.answers?.write(message.content);
    if (stored.answers && isUnanswered(calls))
      after.append(button({ className: "quiet" }, write, at.write));
    said.append(after);
  }
  const took = el("div", { className: "took" });
  if (!calls.length) took.append(el("p", { className: "muted" }, t.noCall));
  for (const call of calls) {
    const around: Around = {
      messages: kept.messages,
      previous: previousOf(call, kept.calls),
      place: (one) =>
        kept.calls.filter(({ message_id }) => message_id === one.message_id).indexOf(one) + 1,
      about: acts.about,
      fromLog: !stored,
    };
    took.append(callCard(call, around));
  }
  return el(
    "section",
    { className: "turn", id: `m-${message.id}`, ariaLabel: `#${message.id}` },
    said,
    took,
  );
}

/** The answer, with the calls of tools at their places. */
function answered(
  message: Message,
  answer: Message | undefined,
  kept: Whole,
  translation: Translation | undefined,
): Child[] {
  const steps = message.steps ?? [];
  if (!steps.length) return [answer && bubble(answer, translation)];
  const parts = partsOf(answer?.content ?? "", steps);
  // The facts about an answer follow its last text.
  const last = parts.findLast(({ text }) => text);
  return parts.flatMap((part) => [
    part.steps.length > 0 && stepList(part.steps, message, kept),
    answer && part.text && bubble({ ...answer, content: part.text }, translation, part === last),
  ]);
}

function previousOf(call: Call, calls: readonly Call[]): Call | undefined {
  const before = calls.slice(0, calls.indexOf(call));
  return before.findLast((one) => one.request !== null && one.meta.purpose === call.meta.purpose);
}

/** `translation`: for a message that the operator may read in their language. */
function bubble(
  message: Message,
  translation: Translation | undefined,
  hasFacts = true,
): HTMLElement {
  const { id, role, content, status, created_at, rating, comment, operator, original } = message;
  const who = role === "user" ? t.visitor : operator ? isolated(operator) : t.assistant;
  const wrong = status !== "ok" && (t.statusOf[status] ?? status);
  return el(
    "div",
    { className: `bubble ${role === "user" ? "user" : operator ? "person" : "assistant"}` },
    // Isolated: direction marks in a text must not affect the text around it (T32).
    role === "user" ? el("bdi", { className: "text" }, content) : answerOf(original || content),
    original && el("p", { className: "translation", dir: "auto" }, `${t.sentAs} `, content),
    translation && !operator && translated(content.replace(SOURCES, ""), translation),
    hasFacts &&
      el(
        "p",
        { className: "about" },
        `#${id} ${who} · `,
        timeOfDay(created_at),
        rating && el("span", { className: `status rating ${rating}` }, it.rated[rating] ?? rating),
        wrong && el("span", { className: "status" }, wrong),
      ),
    hasFacts && comment && commentOf(comment),
  );
}
