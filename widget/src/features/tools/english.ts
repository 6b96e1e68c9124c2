/** The texts of the tools in English. */

export interface ToolTexts {
  /** The line of an answer with several steps. `{n}`: their number, at least 2. */
  readonly lookedUp: string;
  /** Follows that line if a step has failed. */
  readonly partly: string;
  /** The states of a step. */
  readonly stepFailed: string;
  readonly stepUnsure: string;
  /** The accessible name of a card that waits for a click. */
  readonly confirm: string;
  /** The buttons of the card. */
  readonly yes: string;
  readonly no: string;
  /** The states of the card. */
  readonly working: string;
  readonly done: string;
  readonly notDone: string;
  readonly notSure: string;
  readonly unfinished: string;
  readonly declined: string;
  readonly expired: string;
  readonly gone: string;
}

export const ENGLISH: ToolTexts = {
  lookedUp: "Looked up {n} things",
  partly: "not everything worked",
  stepFailed: "did not work",
  stepUnsure: "not sure that it worked",
  confirm: "Please confirm",
  yes: "Yes, do it",
  no: "No",
  working: "Working on it…",
  done: "Done",
  notDone: "That did not work. Nothing was changed.",
  notSure: "We are not sure that it worked. It will not be done twice.",
  unfinished: "Not finished",
  declined: "Not done. Nothing was changed.",
  expired: "This question has expired. Please ask again.",
  gone: "This is no longer possible.",
};

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<ToolTexts> {}
}
