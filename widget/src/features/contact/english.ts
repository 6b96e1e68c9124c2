/** The texts of the contact form in English. */

import { OPENS } from "../../answer/opening.ts";

export interface ContactTexts {
  /** The button that opens the form, and the accessible name of the form. */
  readonly person: string;
  readonly weWrite: string;
  readonly goesWith: string;
  readonly yourName: string;
  readonly email: string;
  readonly yourQuestion: string;
  readonly requestSent: string;
  /** Outside the opening hours. `{time}`: such as "Monday, November 30 at 9:00 AM". */
  readonly opens: string;
}

export const ENGLISH: ContactTexts = {
  person: "Talk to a person",
  weWrite: "We will write to you",
  goesWith: "This conversation goes with your message.",
  yourName: "Your name",
  email: "E-mail",
  yourQuestion: "Your question",
  requestSent: "Thank you. We have your message and will write to you.",
  opens: OPENS,
};

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<ContactTexts> {}
}
