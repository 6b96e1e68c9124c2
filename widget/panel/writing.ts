/** The dialog in which an operator writes an answer for all visitors: its preview, and its fields. */

import { rendered } from "./answer.ts";
import { at } from "./answer-texts.ts";
import { button, el, limit } from "./dom.ts";
import { markedParts, markParts } from "./personal.ts";
import type { Writing } from "./state/answers.ts";
import type { Store } from "./state/store.ts";
import { isolated, t } from "./texts.ts";
import type { Draft, Mark } from "./types.ts";

export interface WritingActs {
  readonly writing: Store<Writing>;
  edit(): void;
  cancel(): void;
  preview(fields: Partial<Draft>): void;
  publish(): void;
}

export function writingDialog(acts: WritingActs): HTMLDialogElement {
  const dialog = el("dialog", { className: "writing", ariaLabel: at.write });
  const trouble = el("p", { className: "trouble", role: "alert" });
  const body = el("div");
  dialog.append(body, trouble);
  let isTyped = false;
  body.addEventListener("input", () => {
    isTyped = true;
  });
  // A text that was typed is given up by the button alone.
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isTyped) event.preventDefault();
  });
  dialog.addEventListener("cancel", () => acts.cancel());
  let drawn: Pick<Writing, "draft" | "marks"> = { draft: undefined, marks: undefined };
  acts.writing.follow(({ draft, marks, trouble: why }) => {
    trouble.textContent = why;
    if (!draft) {
      dialog.close();
      isTyped = false;
    }
    // What was typed stays while the draft is the same.
    else if (!drawn.draft || drawn.marks !== marks) {
      body.replaceChildren(...(marks ? preview(draft, marks, acts) : [form(draft, acts)]));
      if (!dialog.open) dialog.showModal();
      body.querySelector<HTMLElement>("[autofocus]")?.focus();
    }
    drawn = { draft, marks };
  });
  return dialog;
}

function preview(draft: Draft, marks: readonly Mark[], acts: WritingActs): HTMLElement[] {
  const question = el("strong", { dir: "auto" }, draft.question);
  const text = rendered(draft.text);
  const of = (field: string) => marks.filter((one) => one.field === field);
  const parts = [
    ...markedParts(draft.question, of("question")),
    ...markedParts(draft.text, of("text")),
  ];
  const shown = { className: "published", tabIndex: 0, autofocus: true, ariaLabel: at.asSeen };
  const author = draft.author && at.by(isolated(draft.author));
  const source = el("p", { className: "muted" }, [author, draft.page].filter(Boolean).join(" · "));
  const published = el("div", { role: "group", ...shown }, question, text, source);
  markParts(published, parts);
  const personal = el("p", { className: "trouble" }, at.personal([...new Set(parts)]));
  personal.hidden = parts.length === 0;
  return [
    el("p", { className: "muted" }, at.asSeen),
    published,
    personal,
    el(
      "div",
      { className: "tools" },
      button({ className: "quiet" }, () => acts.cancel(), at.cancel),
      button({ className: "quiet" }, () => acts.edit(), at.edit),
      button({ className: "accent" }, () => acts.publish(), parts.length ? at.anyway : at.publish),
    ),
  ];
}

function form(draft: Draft, acts: WritingActs): HTMLElement {
  const required = { required: true, dir: "auto" };
  const question = el("textarea", { ...required, rows: 2, value: draft.question });
  limit(question, 500, t.tooLong);
  const text = el("textarea", { ...required, rows: 6, value: draft.text });
  limit(text, 8000, t.tooLong);
  const author = el("input", { maxLength: 60, autocomplete: "name", value: draft.author });
  const page = el("input", { type: "url", maxLength: 990, value: draft.page });
  (draft.question ? text : question).autofocus = true;
  const node = el(
    "form",
    {},
    el("label", {}, at.question, question),
    el("label", {}, at.text, text),
    el("label", {}, at.author, author),
    el("label", {}, at.page, page),
    el(
      "div",
      { className: "tools" },
      button({ className: "quiet" }, () => acts.cancel(), at.cancel),
      el("button", { type: "submit", className: "accent" }, at.preview),
    ),
  );
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    acts.preview({
      question: question.value.trim(),
      text: text.value.trim(),
      author: author.value.trim(),
      page: page.value.trim(),
    });
  });
  return node;
}
