/** Adds the preset and the facts about the page to questions, for sites that have set them. */

import type { Feature, Kit } from "../../answer/feature.ts";
import { adding } from "./fields.ts";

export default function page({ settings, apiUrl }: Kit): Feature {
  return { asking: async (_turn, ask) => adding(ask, `${apiUrl}`, settings) };
}
