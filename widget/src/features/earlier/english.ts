/** The text of a long conversation in English. */

export interface EarlierTexts {
  /** The button above the oldest message on the page. */
  readonly earlier: string;
}

export const ENGLISH: EarlierTexts = { earlier: "Earlier messages" };

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<EarlierTexts> {}
}
