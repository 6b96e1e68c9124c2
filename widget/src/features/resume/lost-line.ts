/** Says at the end of the conversation that the connection was lost and is being restored. */

import { atEnd } from "../../answer/at-end.ts";
import type { AnswerTexts } from "../../answer/english.ts";
import { element, takeOut } from "../../open/view/dom.ts";

export interface LostLine {
  show(): void;
  remove(): void;
}

export function lostLine(
  root: ShadowRoot | null,
  { reconnecting }: Pick<AnswerTexts, "reconnecting">,
  speak: (text: string) => void,
): LostLine {
  const line = element("p", { className: "trouble" }, reconnecting);
  return {
    show: () => {
      if (line.isConnected) return;
      const log = root?.querySelector(".log");
      atEnd(log, () => log?.querySelector(".turn:last-child")?.append(line));
      speak(reconnecting);
    },
    remove: () => takeOut(line),
  };
}
