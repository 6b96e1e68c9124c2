/** Asks for a comment on an answer that the visitor rated as not helpful. */

import { atEnd } from "../../answer/at-end.ts";
import type { Feature, Kit } from "../../answer/feature.ts";
import { post } from "../../open/transport/http.ts";
import { adopt } from "../../open/view/dom.ts";
import stylesheet from "./comment.css";
import { ENGLISH } from "./english.ts";
import { commentForm } from "./form.ts";

export default function comment({ root, texts, speak, chat }: Kit): Feature {
  adopt(root, stylesheet);
  const words = { ...ENGLISH, ...texts };
  return {
    /** Shows the form at the end of `row` while the answer is rated down. */
    rated: (row, { id, first, rating }) => {
      row.querySelector(".comment")?.remove();
      const message = first ?? id;
      // A message of another tab has no id here.
      if (rating !== "down" || !message) return;
      const send = async (text: string): Promise<boolean> => {
        const body = { client_message_id: message, rating, comment: text };
        return (await chat()?.request("/feedback", post(body)))?.status === 204;
      };
      atEnd(row.closest(".log"), () => row.append(commentForm(words, speak, send)));
    },
  };
}
