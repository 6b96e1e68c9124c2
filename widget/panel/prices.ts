/** The cost of sums of tokens, in the currency of the settings. */

import type { About, Day } from "./types.ts";

export type Sums = Readonly<Omit<Day, "date">>;

export function costOf(sums: Sums, about: About | undefined): number {
  const input = sums.prompt_tokens * (about?.price_input ?? 0);
  return (input + sums.completion_tokens * (about?.price_output ?? 0)) / 1e6;
}

export interface Outcomes {
  readonly confirmed: number;
  readonly left: number;
  readonly again: number;
  readonly person: number;
  readonly proved: number;
}

/** What came after the answers. Exactly one of `left`, `again` and `person` comes after each. */
export function outcomesOf({ answers, ups, again, handoffs, proved }: Sums): Outcomes {
  const left = Math.max(0, answers - again - handoffs);
  return { confirmed: ups, left, again, person: handoffs, proved };
}

export function hasPrices(about: About | undefined): boolean {
  return about !== undefined && (about.price_input !== null || about.price_output !== null);
}
