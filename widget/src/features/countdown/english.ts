/** The text during the wait before an automatic retry, in English. */

export interface CountdownTexts {
  /** `{seconds}`: a number. */
  readonly tryingAgain: string;
}

export const ENGLISH: CountdownTexts = {
  tryingAgain: "Trying again in {seconds} s",
};

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<CountdownTexts> {}
}
