/** The bar below a session, with which an operator takes it over, writes, and hands it back. */

import { uuid } from "../src/open/uuid.ts";
import { isNamed, nameOperator, operatorName } from "./api.ts";
import { button, el } from "./dom.ts";
import { isolated, moment, t } from "./texts.ts";
import type { Attendance, Message, Whole } from "./types.ts";

const POLL_MS = 3_000;
/** An answer may be stored after messages with greater ids; this number of ids is read again. */
const OVERLAP = 40;
/** Maximum distance from the end at which the view scrolls with new messages. */
const AT_END_PX = 120;

export interface TalkActs {
  read(after: number): Promise<{ attendance: Attendance; messages: readonly Message[] }>;
  attend(state: string, operator: string, takenFrom?: string): Promise<Attendance>;
  say(lineId: string, operator: string, text: string): Promise<void>;
}

type Shown = (message: Message) => HTMLElement;

/** `shown` makes the element of a message; new elements are added before the bar. */
export function talkBar(kept: Whole, acts: TalkActs, shown: Shown): HTMLElement {
  return new TalkBar(kept, acts, shown).node;
}

class TalkBar {
  readonly node: HTMLElement;
  readonly #acts: TalkActs;
  readonly #shown: Shown;
  readonly #known: Set<number>;
  readonly #line = el("p", { class: "muted", role: "status" });
  readonly #controls = el("div", { class: "talk-controls" });
  readonly #alert = el("p", { class: "trouble", role: "alert", hidden: true });
  /** The field keeps its text while another operator has the session. */
  readonly #text = el("textarea", { name: "text", rows: 2, maxlength: 4000, required: true });
  #attendance: Attendance;

  constructor({ session, messages }: Whole, acts: TalkActs, shown: Shown) {
    this.#acts = acts;
    this.#shown = shown;
    this.#known = new Set(messages.map(({ id }) => id));
    this.#attendance = session.attendance ?? { state: "bot", operator: "", since: 0 };
    const label = { class: "talk", role: "region", "aria-label": t.person };
    this.node = el("div", label, this.#line, this.#controls, this.#alert);
    this.#text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#text.form?.requestSubmit();
    });
    this.#draw();
    setTimeout(() => void this.#poll(), POLL_MS);
  }

  /** Asks for new messages while somebody waits, until the session is left. */
  async #poll(): Promise<void> {
    if (!this.node.isConnected) return;
    const isLive = ["waiting", "person"].includes(this.#attendance.state);
    // A failed request is repeated by the next request.
    if (isLive && !document.hidden) await this.#look().catch(() => {});
    setTimeout(() => void this.#poll(), POLL_MS);
  }

  async #look(): Promise<void> {
    const found = await this.#acts.read(Math.max(0, ...this.#known) - OVERLAP);
    const pane = this.node.closest(".pane");
    const gap = pane ? pane.scrollHeight - pane.scrollTop - pane.clientHeight : 0;
    for (const message of found.messages) {
      if (this.#known.has(message.id) || message.status === "pending") continue;
      this.#known.add(message.id);
      this.node.before(this.#shown(message));
    }
    this.#enter(found.attendance);
    if (gap < AT_END_PX) pane?.scrollTo(0, pane.scrollHeight);
  }

  #enter(next: Attendance): void {
    const { state, operator } = this.#attendance;
    this.#attendance = next;
    if (next.state === state && next.operator === operator) return;
    this.#draw();
    const isUnasked = next.state === "person" && !["waiting", "person"].includes(state);
    if (isUnasked) this.#line.append(` ${t.unasked}`);
  }

  #draw(): void {
    this.#line.textContent = sentence(this.#attendance);
    this.node.classList.toggle("wanted", this.#attendance.state === "waiting");
    this.node.classList.toggle("live", ["waiting", "person"].includes(this.#attendance.state));
    const { state, operator } = this.#attendance;
    const isTheirs = state === "person" && operator === operatorName();
    this.#controls.replaceChildren(...(isTheirs ? this.#writing() : [this.#taking()]));
  }

  /** Returns whether the work succeeded; the bar shows the reason if it did not. */
  async #tried(work: () => Promise<unknown>): Promise<boolean> {
    this.#alert.hidden = true;
    try {
      await work();
      await this.#look();
      return true;
    } catch (error) {
      this.#alert.textContent = error instanceof Error ? error.message : String(error);
      this.#alert.hidden = false;
      await this.#look().catch(() => {}); // another operator may have the session now
      return false;
    }
  }

  async #turn(state: string, name: string, takenFrom?: string): Promise<void> {
    await this.#tried(async () => this.#enter(await this.#acts.attend(state, name, takenFrom)));
    this.#text.focus({ preventScroll: true });
    const pane = this.node.closest(".pane");
    pane?.scrollTo(0, pane.scrollHeight);
  }

  #taking(): HTMLElement {
    const { state, operator } = this.#attendance;
    const value = operatorName();
    const limits = { maxlength: 64, required: true, pattern: ".*\\S.*", value, readonly: isNamed };
    const name = el("input", { name: "operator", autocomplete: "name", ...limits });
    const other = state === "person" ? operator : undefined;
    const take = (wanted: string) => {
      const own = name.value.trim();
      nameOperator(own);
      if (own === other) this.#draw();
      else void this.#turn(wanted, own, other);
    };
    const form = el(
      "form",
      { class: "talk-form" },
      el("label", {}, t.yourName, name),
      el(
        "button",
        { type: "submit", class: "accent" },
        other ? t.takeFrom(isolated(other)) : t.takeOver,
      ),
      state === "waiting" &&
        button({ class: "quiet" }, () => form.reportValidity() && take("closed"), t.close),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      take("person");
    });
    return form;
  }

  #writing(): HTMLElement[] {
    const { operator } = this.#attendance;
    const text = this.#text;
    const send = el("button", { type: "submit", class: "accent" }, t.send);
    const form = el("form", { class: "talk-form" }, el("label", {}, t.line, text), send);
    let lineId = uuid();
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (send.disabled || !text.value.trim()) return;
      send.disabled = text.readOnly = true;
      // A repetition has the same id: the line may have been stored although its answer was lost.
      if (await this.#tried(() => this.#acts.say(lineId, operator, text.value))) {
        text.value = "";
        lineId = uuid();
      }
      send.disabled = text.readOnly = false;
    });
    const turn = (state: string) => () => void this.#turn(state, operator);
    const back = button({ class: "quiet" }, turn("bot"), t.handBack);
    const close = button({ class: "quiet" }, turn("closed"), t.close);
    return [form, el("div", { class: "tools" }, back, close)];
  }
}

function sentence({ state, operator, since }: Attendance): string {
  if (state === "waiting") return t.waitsSince(moment(since));
  if (state === "person") return t.hasSince(isolated(operator), moment(since));
  if (state === "closed") return t.closedAt(isolated(operator), moment(since));
  return t.modelAnswers;
}
