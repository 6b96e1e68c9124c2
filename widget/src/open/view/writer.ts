/** Writes the text of an answer into its element. */

import type { UseAnswer } from "../../answer/answer.ts";
import type { Turn } from "../turn.ts";

export interface Writer {
  feed(text: string): void;
  /** The text is complete. */
  end(): void;
}

/**
 * A writer of Markdown. Text waits for the file that reads Markdown; without that file, the text is
 * shown as it is. `grown` is called when text that has waited is shown.
 */
export function writerOf(
  into: HTMLElement,
  turn: Turn,
  useAnswer: UseAnswer,
  grown: () => void,
): Writer {
  let text = "";
  let isOver = false;
  let isPlain = false;
  let writer: Writer | undefined;
  useAnswer(
    ({ prose }) => {
      into.replaceChildren();
      into.classList.remove("plain");
      writer = prose(into, turn);
      writer.feed(text);
      if (isOver) writer.end();
      grown();
    },
    () => {
      isPlain = true;
      into.classList.add("plain");
      into.append(text);
      grown();
    },
  );
  return {
    feed(more) {
      if (writer) return writer.feed(more);
      text += more;
      if (isPlain) into.append(more);
    },
    end() {
      isOver = true;
      writer?.end();
    },
  };
}
