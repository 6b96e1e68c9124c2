/** Asks for a comment on an answer that the visitor rated as not helpful, in a file of its own. */

import { atEnd } from "../../answer/at-end.ts";
import type { AnswerTexts } from "../../answer/english.ts";
import type { MenuActs } from "../../answer/menu.ts";
import type { Texts } from "../../open/english.ts";
import { post } from "../../open/transport/http.ts";
import type { Turn } from "../../open/turn.ts";
import { adopt } from "../../open/view/dom.ts";
import stylesheet from "./comment.css";
import { ENGLISH } from "./english.ts";
import { commentForm } from "./form.ts";

/** The comments for the widget in `root`. `speak` announces a text to screen readers. */
export default function comment(
  root: ShadowRoot | null,
  texts: Texts & AnswerTexts,
  speak: (text: string) => void,
) {
  adopt(root, stylesheet);
  const words = { ...ENGLISH, ...texts };
  return {
    /** Shows the form at the end of `row`, the buttons of an answer, while it is rated down. */
    rated: (row: HTMLElement, { id, first, rating }: Turn, { request }: MenuActs) => {
      row.querySelector(".comment")?.remove();
      const message = first ?? id;
      // A message of another tab has no id here.
      if (rating !== "down" || !message) return;
      const send = async (text: string): Promise<boolean> => {
        const body = { client_message_id: message, rating, comment: text };
        return (await request("/feedback", post(body)))?.status === 204;
      };
      atEnd(row.closest(".log"), () => row.append(commentForm(words, speak, send)));
    },
  };
}

export type CommentModule = { readonly default: typeof comment };

export type Comment = ReturnType<typeof comment>;
