/** Turns a wrong answer into a case for `kefu test`: its chat up to the question, and a correction. */

import { button, el } from "./dom.ts";
import { download } from "./save.ts";
import { isClick } from "./steps.ts";
import { isChinese } from "./texts.ts";
import type { Message, Whole } from "./types.ts";

const FILE = "questions.jsonl";

const texts = isChinese
  ? {
      correct: "加入测试",
      right: "正确的回答",
      how: `问题、之前的对话和您的更正会写入 ${FILE}，可用 kefu test 运行。文件包含访客的话。`,
      save: "保存文件",
      saved: (n: number) => `文件中有 ${n} 个问题。`,
    }
  : {
      correct: "Add to tests",
      right: "The right answer",
      how: `The question, the chat before it and your correction go into ${FILE}, for kefu test. It has the visitor's words.`,
      save: "Save the file",
      saved: (n: number) => `The file has ${n} ${n === 1 ? "question" : "questions"}.`,
    };

type Case = { name: string; turns: { ask: string; expect?: { judge: string } }[] };

/** The cases that were made on this page, by the session and the message of their question. */
const cases = new Map<string, Case>();

/** The case of a question. Earlier questions without an answer are left out. */
export function caseOf(kept: Whole, question: Message, right: string): Case {
  const answered = new Set(
    kept.messages.filter(({ role, status }) => role !== "user" && status === "ok").map(questionOf),
  );
  const before = kept.messages.filter(
    (one) => one.role === "user" && one.id < question.id && answered.has(one.id) && !isClick(one),
  );
  return {
    name: `${kept.session.id.slice(0, 8)} #${question.id}`,
    turns: [
      ...before.map(({ content }) => ({ ask: content })),
      { ask: question.content, expect: { judge: `Agrees with this right answer: ${right}` } },
    ],
  };
}

function questionOf({ id, reply_to }: Message): number {
  return reply_to ?? id - 1;
}

/** A button below an answer, which opens the form for the correction. */
export function correction(kept: Whole, question: Message): HTMLElement {
  const node = el("div", { className: "correction" });
  let form: HTMLFormElement | undefined;
  const opener = button(
    { className: "quiet", ariaExpanded: "false" },
    () => {
      if (form) form.hidden = !form.hidden;
      else {
        form = formOf(kept, question);
        node.append(form);
      }
      opener.setAttribute("aria-expanded", `${!form.hidden}`);
      if (!form.hidden) form.querySelector("textarea")?.focus();
    },
    texts.correct,
  );
  node.append(opener);
  return node;
}

function formOf(kept: Whole, question: Message): HTMLFormElement {
  const field = el("textarea", { rows: 3, required: true, dir: "auto" });
  const said = el("p", { className: "muted", role: "status" });
  const form = el(
    "form",
    {},
    el("label", {}, texts.right, field),
    el("p", { className: "muted" }, texts.how),
    el("button", { type: "submit", className: "accent" }, texts.save),
    said,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    cases.set(`${kept.session.id} ${question.id}`, caseOf(kept, question, field.value.trim()));
    const lines = [...cases.values()].map((one) => `${JSON.stringify(one)}\n`);
    download(new Blob(lines, { type: "application/jsonl" }), FILE);
    said.textContent = texts.saved(cases.size);
  });
  return form;
}
