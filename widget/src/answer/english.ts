/** The texts of the file for answers in English; other languages have them in their dictionary. */

export interface AnswerTexts {
  /** Accessible names of code blocks and tables, which scroll sideways. */
  readonly code: string;
  readonly table: string;
  /** The label of the Copy button of a code block, and its label after a click. */
  readonly copy: string;
  readonly copied: string;
  /** The accessible name of the list of pages that an answer cites. */
  readonly sources: string;
  /** The labels of the buttons below an answer: a new answer, and the ratings. */
  readonly again: string;
  readonly up: string;
  readonly down: string;
  /** The labels of the tools in the header, and of the items of its menu. */
  readonly more: string;
  readonly enlarge: string;
  readonly newChat: string;
  readonly copyChat: string;
  readonly textSize: string;
  readonly download: string;
  readonly erase: string;
  /** The label of the Delete button after the first click, when it asks for confirmation. */
  readonly eraseForGood: string;
  readonly failed: string;
  /** The accessible name of the button that scrolls to the end of the conversation. */
  readonly newest: string;
  /** Shown while an answer is taken up after its connection was lost. */
  readonly reconnecting: string;
}

export const ENGLISH: AnswerTexts = {
  code: "Code",
  table: "Table",
  copy: "Copy",
  copied: "Copied",
  sources: "Sources",
  again: "Answer again",
  up: "Helpful",
  down: "Not helpful",
  more: "More",
  enlarge: "Enlarge",
  newChat: "New chat",
  copyChat: "Copy chat",
  textSize: "Text size",
  download: "Download chat",
  erase: "Delete chat",
  eraseForGood: "Delete for good?",
  failed: "That did not work",
  newest: "Go to the newest message",
  reconnecting: "The connection was lost. Reconnecting…",
};

declare module "../dictionaries.ts" {
  interface Dictionary extends Partial<AnswerTexts> {}
}
