/** The bar below a session, with which an operator takes it over, writes, and hands it back. */

import { isComposing } from "../src/open/view/composer.ts";
import { button, el, limit } from "./dom.ts";
import { isLive, type Talk } from "./state/chat.ts";
import { keepUnsent, type Operator, unsent } from "./state/operator.ts";
import type { Store } from "./state/store.ts";
import { clock, isolated, moment, t } from "./texts.ts";
import type {
  Attendance,
  ContactRequest,
  Message,
  Reply,
  VisitorMail,
  VisitorPage,
} from "./types.ts";

/** Maximum distance from the end at which the view scrolls with new messages. */
const AT_END_PX = 120;
/** Characters. */
const LONGEST_LINE = 4000;

/** What an operator does with the session. The functions return whether it succeeded. */
export interface TalkActs {
  readonly id: string;
  readonly state: Store<Talk>;
  readonly operator: Store<Operator>;
  readonly replies: readonly Reply[];
  /** Whether the operator only reads. */
  readonly isReader: boolean;
  attend(state: string, operator: string, takenFrom?: string): Promise<boolean>;
  say(text: string): Promise<boolean>;
  /** The operator has typed. */
  typed(): void;
}

/** Makes the elements of what comes while the session is open. */
export interface Shown {
  message(message: Message): HTMLElement;
  request(form: ContactRequest): HTMLElement;
}

/** New elements of `shown` are added before the bar. */
export function talkBar(acts: TalkActs, shown: Shown): HTMLElement {
  return new TalkBar(acts, shown).node;
}

class TalkBar {
  readonly node: HTMLElement;
  readonly #acts: TalkActs;
  readonly #shown: Shown;
  readonly #line = el("p", { className: "muted", role: "status" });
  readonly #page = el("p", { className: "muted", role: "status" });
  readonly #controls = el("div", { className: "talk-controls" });
  readonly #mail = el("p", { className: "muted", role: "status" });
  readonly #alert = el("p", { className: "trouble", role: "alert" });
  /** The field keeps its text while another operator has the session. */
  readonly #text = el("textarea", {
    name: "text",
    rows: 2,
    // Without a maximum length, with which the browser cuts what is pasted and says nothing.
    dir: "auto",
    required: true,
    placeholder: t.line,
    ariaLabel: t.line,
    ariaKeyShortcuts: "r",
  });
  /** The number of new messages that are shown. */
  #count = 0;
  /** The number of new requests for a person that are shown. */
  #forms = 0;
  #drawn: Attendance | undefined;

  constructor(acts: TalkActs, shown: Shown) {
    this.#acts = acts;
    this.#shown = shown;
    this.#text.value = unsent(acts.id);
    limit(this.#text, LONGEST_LINE, t.tooLong);
    const label = { className: "talk", role: "region", ariaLabel: t.person };
    this.node = el("div", label, this.#line, this.#page, this.#controls, this.#mail, this.#alert);
    this.#text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
      event.preventDefault();
      this.#text.form?.requestSubmit();
    });
    this.#text.addEventListener("input", () => {
      keepUnsent(acts.id, this.#text.value);
      acts.typed();
    });
    acts.state.follow((talk) => this.#show(talk));
  }

  #show(talk: Talk): void {
    const pane = this.node.closest(".pane");
    const gap = pane ? pane.scrollHeight - pane.scrollTop - pane.clientHeight : 0;
    for (const message of talk.fresh.slice(this.#count)) this.#add(message);
    this.#count = talk.fresh.length;
    for (const form of talk.asked.slice(this.#forms)) this.node.before(this.#shown.request(form));
    this.#forms = talk.asked.length;
    const trouble = talk.isDeleted ? "" : talk.trouble;
    this.#alert.textContent = trouble || (talk.untranslated && t.sentAsIs(talk.untranslated));
    tell(this.#mail, talk.mail ? mailed(talk.mail) : "");
    tell(this.#page, talk.page ? whereabouts(talk.page, isLive(talk.attendance)) : "");
    if (talk.isDeleted) this.#end();
    else this.#enter(talk.attendance);
    if (gap < AT_END_PX) pane?.scrollTo(0, pane.scrollHeight);
  }

  /** Shows a new message above the bar, and an answer below its question. */
  #add(message: Message): void {
    const node = this.#shown.message(message);
    const question = document.getElementById(`m-${message.id}`)?.querySelector(".bubble");
    const asked = document.getElementById(`m-${message.reply_to}`);
    if (question) question.replaceWith(node.firstElementChild ?? "");
    else if (asked) asked.after(node);
    else this.node.before(node);
  }

  /** Says that the session was deleted, and leaves nothing to do. */
  #end(): void {
    this.#line.textContent = t.chatDeleted;
    this.node.classList.remove("wanted", "live");
    this.node.closest(".conversation")?.classList.add("deleted");
    this.#controls.replaceChildren();
    tell(this.#page, "");
  }

  #enter(attendance: Attendance): void {
    const { state, operator } = attendance;
    const before = this.#drawn;
    if (before?.state === state && before.operator === operator) return;
    this.#draw(attendance);
    if (state === "person" && before && !isLive(before)) this.#line.append(` ${t.unasked}`);
  }

  #draw(attendance: Attendance): void {
    this.#drawn = attendance;
    this.#line.textContent = sentence(attendance);
    this.node.classList.toggle("wanted", attendance.state === "waiting");
    this.node.classList.toggle("live", isLive(attendance));
    const { name } = this.#acts.operator.get();
    if (this.#acts.isReader) return;
    const isTheirs = attendance.state === "person" && attendance.operator === name;
    this.#controls.replaceChildren(isTheirs ? this.#writing() : this.#taking(attendance));
  }

  async #turn(state: string, name: string, takenFrom?: string): Promise<void> {
    await this.#acts.attend(state, name, takenFrom);
    const heading = this.node.closest(".pane")?.querySelector<HTMLElement>("h2[tabindex]");
    (this.#text.isConnected ? this.#text : heading)?.focus({ preventScroll: true });
    this.#toEnd();
  }

  #toEnd(): void {
    const pane = this.node.closest(".pane");
    pane?.scrollTo(0, pane.scrollHeight);
  }

  #taking({ state, operator }: Attendance): HTMLElement {
    const { name: value, isNamed } = this.#acts.operator.get();
    const limits = { maxLength: 64, required: true, pattern: ".*\\S.*" };
    const name = el("input", { name: "operator", autocomplete: "name", ...limits, value });
    const other = state === "person" ? operator : undefined;
    const take = (wanted: string) => {
      const own = name.value.trim();
      this.#acts.operator.patch({ name: own });
      if (own === other) this.#draw(this.#acts.state.get().attendance);
      else void this.#turn(wanted, own, other);
    };
    const form = el(
      "form",
      { className: "talk-form" },
      // The server takes the name of a link, so there is nothing to type.
      !isNamed && el("label", {}, t.yourName, name),
      el(
        "button",
        // One key is too little to take a chat from another operator.
        { type: "submit", className: "accent", ariaKeyShortcuts: other ? null : "r" },
        other ? t.takeFrom(isolated(other)) : t.takeOver,
      ),
      state === "waiting" &&
        button({ className: "quiet" }, () => form.reportValidity() && take("closed"), t.close),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      take("person");
    });
    return form;
  }

  #writing(): HTMLElement {
    const text = this.#text;
    const send = el("button", { type: "submit", className: "accent" }, t.send);
    const { operator } = this.#acts.state.get().attendance;
    const turn = (state: string) => () => void this.#turn(state, operator);
    const ends = { className: "quiet", ariaKeyShortcuts: "e" };
    const form = el(
      "form",
      { className: "talk-form" },
      text,
      readyReplies(this.#acts.replies, text),
      send,
      el(
        "div",
        { className: "tools" },
        button({ className: "quiet" }, turn("bot"), t.handBack),
        button(ends, turn("closed"), t.close),
      ),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (send.disabled || !text.value.trim()) return;
      send.disabled = text.readOnly = true;
      if (await this.#acts.say(text.value)) {
        text.value = "";
        this.#toEnd();
      }
      keepUnsent(this.#acts.id, text.value);
      send.disabled = text.readOnly = false;
    });
    return form;
  }
}

/** The menu that writes a ready reply at the cursor; false without any. */
function readyReplies(replies: readonly Reply[], field: HTMLTextAreaElement): HTMLElement | false {
  const first = el("option", { value: "" }, t.replies);
  const options = replies.map(({ name }, at) => el("option", { value: String(at) }, name));
  const menu = el("select", { className: "replies", ariaLabel: t.replies }, first, ...options);
  menu.addEventListener("change", () => {
    const reply = replies[Number(menu.value)];
    menu.value = "";
    if (!reply || field.readOnly) return;
    field.setRangeText(reply.text, field.selectionStart, field.selectionEnd, "end");
    field.dispatchEvent(new Event("input"));
    field.focus();
  });
  return replies.length > 0 && menu;
}

function mailed({ due_at, attempts, mailed_at }: VisitorMail): string {
  const end = mailed_at && !attempts ? t.delivered(moment(mailed_at)) : "";
  const due = due_at ? t.mailDue(moment(due_at)) : end;
  return [t.mailed, due, attempts > 0 && t.failedTimes(attempts)].filter(Boolean).join(" ");
}

/** Changes the text of a status, which is read aloud with each change. */
function tell(status: HTMLElement, text: string): void {
  if (status.textContent !== text) status.textContent = text;
}

/** `isDue`: whether an open page asks for new lines. Else it does so for ten minutes after an answer. */
function whereabouts({ seen_at, is_open }: VisitorPage, isDue: boolean): string {
  if (is_open) return t.pageOpen;
  if (isDue && seen_at) return t.pageUntil(clock(seen_at));
  return isDue || seen_at ? t.noPage : "";
}

function sentence({ state, operator, since }: Attendance): string {
  if (state === "waiting") return t.waitsSince(clock(since));
  if (state === "person") return t.hasSince(isolated(operator), clock(since));
  if (state === "closed") return t.closedAt(isolated(operator), clock(since));
  return t.modelAnswers;
}
