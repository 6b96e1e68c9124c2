/**
 * The tools of the page, which its scripts give to `ChatWidget.tools`. The model proposes a call, the
 * visitor approves it in a card, and the page carries it out.
 */

import type { Feature, Kit } from "../../answer/feature.ts";
import { acting } from "./acting.ts";

export default function pageTools({ tools, apiUrl }: Kit): Feature {
  return { asking: async (turn, ask) => acting(ask, apiUrl, tools, turn) };
}
