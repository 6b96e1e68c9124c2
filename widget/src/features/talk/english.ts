/** The texts of the talk with a person in English. */

export interface TalkTexts {
  /** Shown between two messages. `{name}`: the person's name. */
  readonly joined: string;
  readonly left: string;
  readonly ended: string;
  /** The line below the title. */
  readonly waits: string;
  readonly answers: string;
  /** The line below the title while the person writes. */
  readonly writes: string;
  /** The item of the menu that switches the sound for a person's line on and off. */
  readonly sound: string;
  /** The line below the input. */
  readonly withPerson: string;
  /** Announced for a line of the person that the visitor has not seen. */
  readonly wrote: string;
  /** Announced when a message has reached the person's panel. */
  readonly delivered: string;
}

export const ENGLISH: TalkTexts = {
  joined: "{name} joined the conversation",
  left: "The AI assistant answers again",
  ended: "The conversation with {name} has ended",
  waits: "Waiting for a person",
  answers: "{name} answers you",
  writes: "{name} is writing…",
  sound: "Sound",
  withPerson: "You are talking to a person",
  wrote: "{name} wrote to you",
  delivered: "Your message was sent",
};

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<TalkTexts> {}
}
