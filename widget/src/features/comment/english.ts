/** The texts of the comment on an answer in English. */

export interface CommentTexts {
  /** The label of the text field below an answer that the visitor rated as not helpful. */
  readonly whatIsWrong: string;
  /** Shown after the comment was stored. */
  readonly thanks: string;
}

export const ENGLISH: CommentTexts = {
  whatIsWrong: "What was wrong with this answer? (optional)",
  thanks: "Thank you for telling us",
};

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<CommentTexts> {}
}
