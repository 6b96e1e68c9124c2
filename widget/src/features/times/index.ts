/** Shows the time between two turns, after a pause of an hour. */

import type { Feature, Kit } from "../../answer/feature.ts";
import { isAfterPause } from "../../answer/pause.ts";
import { adopt, element } from "../../open/view/dom.ts";
import stylesheet from "./times.css";

export default function times({ root, texts }: Kit): Feature {
  adopt(root, stylesheet);
  return {
    changed: (node, turn) => {
      if (!turn.at || !isAfterPause(node, turn) || node.querySelector(".time")) return;
      const time = new Date(turn.at);
      const dateTime = time.toISOString();
      node.prepend(element("time", { className: "time", dateTime }, textOf(time, texts.lang)));
    },
  };
}

/** The time in the words of `language`: `today 14:05`, `yesterday 14:05`, or with the date. */
export function textOf(time: Date, language: string, now = new Date()): string {
  const midnight = (date: Date): number => new Date(date).setHours(0, 0, 0, 0);
  // Days differ in length when the clock changes.
  const days = Math.round((midnight(time) - midnight(now)) / 86_400_000);
  if (days < -1) {
    const both = { dateStyle: "medium", timeStyle: "short" } as const;
    return new Intl.DateTimeFormat(language, both).format(time);
  }
  const day = new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(days, "day");
  return `${day} ${new Intl.DateTimeFormat(language, { timeStyle: "short" }).format(time)}`;
}
