/** The texts about a message that the service refused, in English. */

export interface ReasonTexts {
  readonly refused: string;
  readonly tooLong: string;
  readonly spent: string;
  readonly notHuman: string;
}

export const ENGLISH: ReasonTexts = {
  refused: "The chat is not available on this page.",
  tooLong: "The message is too long. Please shorten it.",
  spent: "There are no answers left for today. Please come back tomorrow.",
  notHuman: "The check for robots did not pass. Please try again.",
};

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<ReasonTexts> {}
}
