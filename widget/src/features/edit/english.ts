/** The texts about a question that is being changed, in English. */

export interface EditTexts {
  readonly editing: string;
  /** The label of the button that leaves the question as it was. */
  readonly discard: string;
}

export const ENGLISH: EditTexts = {
  editing: "You are changing your last question",
  discard: "Leave it as it was",
};

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<EditTexts> {}
}
