/** Questions below the last answer, with which the visitor may go on: from the pages that the service found. */

import { atEnd } from "../../answer/at-end.ts";
import type { Feature, Kit } from "../../answer/feature.ts";
import { own } from "../../open/own.ts";
import type { Turn } from "../../open/turn.ts";
import { adopt } from "../../open/view/dom.ts";
import { suggestionBar } from "../../open/view/suggestion-bar.ts";
import stylesheet from "./follow-ups.css";

const MOST = 3;
const LONGEST_CHARS = 80;

export default function followUps({ root, texts, send }: Kit): Feature {
  adopt(root, stylesheet);
  const log = root?.querySelector<HTMLElement>(".log");
  let bar: HTMLElement | undefined;
  const isAsked = (text: string): boolean =>
    [...(log?.querySelectorAll(".question") ?? [])].some(
      ({ lastChild }) => lastChild?.textContent === text,
    );
  return {
    // Of the last answer alone.
    changed: (_node, { ending }) => {
      if (ending === "open") bar?.remove();
    },
    answered: (row, { events, person }) => {
      bar?.remove();
      const fresh = person ? [] : textsOf(events).filter((text) => !isAsked(text));
      if (fresh.length === 0) return;
      const added = suggestionBar(texts.suggestions, fresh.slice(0, MOST), send);
      added.className = "follow-ups";
      bar = added;
      // By then the row is below the answer.
      queueMicrotask(() => {
        const turn = row.parentElement;
        if (turn?.matches(":last-child")) atEnd(log, () => turn.append(added));
      });
    },
  };
}

/** The texts of the newest event with some. Events may come from storage, so nothing is certain. */
function textsOf(events: Turn["events"]): readonly string[] {
  const texts = own(events?.at(-1), "follow_ups");
  return (Array.isArray(texts) ? texts : []).filter(
    (text): text is string => typeof text === "string" && text.length <= LONGEST_CHARS,
  );
}
