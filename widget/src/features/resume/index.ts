/** Goes on with a stored chat: restores it, and takes up its answer after a reload or a lost connection. */

import type { Feature, Kit } from "../../answer/feature.ts";
import { attemptsOf } from "./attempts.ts";
import { lostLine } from "./lost-line.ts";
import { restore } from "./restore.ts";
import { whenBack } from "./when-back.ts";

export default function resume({ root, texts, speak, chat }: Kit): Feature {
  const begin = attemptsOf(
    {
      request: async (...to) => chat()?.request(...to),
      resume: (from) => chat()?.resume(from),
    },
    () => !!root?.host.isConnected,
    lostLine(root, texts, speak),
  );
  /** Takes up the answer whose connection was lost. `note` is shown only if that fails. */
  const takeUp = (note: HTMLElement): void => {
    const begun = begin(false);
    note.hidden = begun === "begun";
    speak(note.hidden ? "" : (note.firstChild?.textContent ?? ""));
    if (begun === "later") whenBack(() => note.isConnected && takeUp(note));
  };
  return {
    restore,
    kept: ({ isPending }) => {
      if (isPending) begin(true);
    },
    failed: (note, { ending }) => {
      if (ending === "disconnected" || ending === "cut") takeUp(note);
    },
  };
}
