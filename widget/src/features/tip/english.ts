/** The texts of the tip in English. */

export interface TipTexts {
  /** The label of the button that removes the tip beside the launcher. */
  readonly dismiss: string;
}

export const ENGLISH: TipTexts = {
  dismiss: "Dismiss",
};

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<TipTexts> {}
}
