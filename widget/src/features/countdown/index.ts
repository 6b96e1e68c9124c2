/** The seconds until the widget tries again by itself, in the note about the delay. */

import type { Feature, Kit } from "../../answer/feature.ts";
import { adopt, element } from "../../open/view/dom.ts";
import stylesheet from "./countdown.css";

/** In English. `{seconds}`: a number. */
export const ENGLISH = { tryingAgain: "Trying again in {seconds} s" };

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<typeof ENGLISH> {}
}

export default function countdown({ root, texts, speak }: Kit): Feature {
  adopt(root, stylesheet);
  const { tryingAgain } = { ...ENGLISH, ...texts };
  return {
    /** Counts down until the note is removed. Screen readers announce the number once, at the start. */
    delayed: (note, due) => {
      // The file may come after the wait.
      if (due <= performance.now()) return;
      const line = element("span", { className: "countdown" });
      const show = (): void => {
        const left = due - performance.now();
        const seconds = Math.max(1, Math.ceil(left / 1_000));
        line.textContent = tryingAgain.replace("{seconds}", `${seconds}`);
        // Milliseconds until the number changes. A sleeping device may be late.
        if (line.isConnected && left > 0) setTimeout(show, left % 1_000 || 1_000);
      };
      const reason = note.textContent;
      note.append(line);
      show();
      speak(`${reason} ${line.textContent}`);
    },
  };
}
