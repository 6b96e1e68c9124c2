/**
 * Why the service refuses a click, by its reasons. English visitors read the service's own sentences, so
 * these are in no file of the widget: they say what is translated.
 */

export interface RefusalTexts {
  readonly superseded: string;
  readonly taken: string;
}

export const ENGLISH: RefusalTexts = {
  superseded: "You wrote another message since, so nothing was changed.",
  taken: "A person answers this chat now. Please ask them.",
};

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<RefusalTexts> {}
}
