/** The form for a comment on an answer: one line of text. */

import type { AnswerTexts } from "../../answer/english.ts";
import type { Texts } from "../../open/english.ts";
import { element } from "../../open/view/dom.ts";
import type { CommentTexts } from "./english.ts";

/** The maximum of characters that the service accepts. */
const LONGEST = 300;

/** `send` sends the comment, and returns whether it was stored. */
export function commentForm(
  texts: Pick<Texts, "send"> & Pick<AnswerTexts, "failed"> & CommentTexts,
  speak: (text: string) => void,
  send: (text: string) => Promise<boolean>,
): HTMLFormElement {
  const field = element("input", { name: "comment", maxLength: LONGEST, dir: "auto" });
  const submit = element("button", { type: "submit", className: "submit" }, texts.send);
  const trouble = element("p", { className: "trouble", hidden: true }, texts.failed);
  const label = element("label", {}, texts.whatIsWrong, field);
  const store = async (text: string): Promise<void> => {
    submit.ariaDisabled = "true";
    trouble.hidden = true;
    const isStored = await send(text);
    submit.ariaDisabled = null;
    trouble.hidden = isStored;
    speak(isStored ? texts.thanks : texts.failed);
    if (!isStored) return;
    const thanks = element("p", { className: "quiet", tabIndex: -1 }, texts.thanks);
    form.replaceChildren(thanks);
    thanks.focus();
  };
  const form = element(
    "form",
    {
      className: "comment",
      onsubmit: (event: SubmitEvent) => {
        event.preventDefault();
        const text = field.value.trim();
        if (text && !submit.ariaDisabled) store(text);
      },
    },
    label,
    submit,
    trouble,
  );
  return form;
}
