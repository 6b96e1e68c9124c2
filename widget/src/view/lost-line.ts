/** Says at the end of the conversation that the connection was lost and is being restored. */

import type { ExtraTexts } from "../extra-texts.ts";
import { element } from "./dom.ts";

export interface LostLine {
  show(): void;
  remove(): void;
}

export function lostLine(
  root: ShadowRoot | null,
  { reconnecting }: Pick<ExtraTexts, "reconnecting">,
  speak: (text: string) => void,
): LostLine {
  const line = element("p", { className: "trouble" }, reconnecting);
  return {
    show: () => {
      const log = root?.querySelector(".log");
      const isAtEnd = log && log.scrollHeight - log.scrollTop - log.clientHeight < 2;
      log?.querySelector(".turn:last-child")?.append(line);
      if (isAtEnd) log.scrollTop = log.scrollHeight;
      speak(reconnecting);
    },
    remove: () => line.remove(),
  };
}
