/** A line of a person, as the service has it. */

import { own } from "./own.ts";

/** The text of a line, with the person's own words as a quote below if it is a translation. */
export function lineOf(message: unknown): unknown {
  const [content, original] = ["content", "original"].map((name) => own(message, name));
  return typeof content === "string" && typeof original === "string"
    ? `${content}\n\n> ${original.replaceAll("\n", "\n> ")}`
    : content;
}
