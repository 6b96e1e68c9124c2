/** The answers for all visitors that are made from one chat, and the one that is being written. */

import { uuid } from "../../src/open/uuid.ts";
import type { Draft, Mark, WrittenAnswer } from "../types.ts";
import { Store } from "./store.ts";
import { tried } from "./trouble.ts";

export interface Writing {
  /** The answers that were made from the chat. */
  readonly made: readonly WrittenAnswer[];
  readonly draft: Draft | undefined;
  /** What looks personal in the draft; undefined while it is edited. */
  readonly marks: readonly Mark[] | undefined;
  /** Why the last act failed; empty if it did not. */
  readonly trouble: string;
}

export interface AnswerRequests {
  answers(sessionId: string): Promise<readonly WrittenAnswer[]>;
  draft(sessionId: string): Promise<Draft & { readonly marks: readonly Mark[] }>;
  marks(draft: Draft): Promise<readonly Mark[]>;
  publish(id: string, draft: Draft, reviewed: boolean): Promise<WrittenAnswer>;
  withdraw(id: string): Promise<void>;
}

export class Answers {
  readonly state = new Store<Writing>({
    made: [],
    draft: undefined,
    marks: undefined,
    trouble: "",
  });
  readonly #chat: string;
  readonly #ask: AnswerRequests;
  /** The id of the answer that is being written: sent again, it is stored once. */
  #id = "";

  constructor(chat: string, ask: AnswerRequests) {
    this.#chat = chat;
    this.#ask = ask;
  }

  load(): Promise<boolean> {
    return tried(this.state, async () => {
      this.state.patch({ made: await this.#ask.answers(this.#chat) });
    });
  }

  /** Begins with what the persons wrote in the chat, as everybody will see it. */
  fromTalk(): Promise<boolean> {
    return tried(this.state, async () => {
      const { question, text, author, marks } = await this.#ask.draft(this.#chat);
      this.#id = uuid();
      const draft = { question, text, author, page: "", session_id: this.#chat };
      // Without a question there is nothing to show yet.
      this.state.patch({ draft, marks: question ? marks : undefined });
    });
  }

  /** Begins with a question, whose answer the operator writes. */
  toQuestion(question: string, author: string): void {
    this.#id = uuid();
    const draft = { question, text: "", author, page: "", session_id: this.#chat };
    this.state.patch({ draft, marks: undefined, trouble: "" });
  }

  edit(): void {
    this.state.patch({ marks: undefined });
  }

  cancel(): void {
    this.state.patch({ draft: undefined, marks: undefined, trouble: "" });
  }

  /** Shows the draft as everybody will see it. */
  preview(fields: Partial<Draft>): Promise<boolean> {
    return tried(this.state, async () => {
      const { draft } = this.state.get();
      if (!draft) return;
      const changed = { ...draft, ...fields };
      this.state.patch({ draft: changed });
      this.state.patch({ marks: await this.#ask.marks(changed) });
    });
  }

  /** Publishes the draft; the operator has seen its marks. */
  publish(): Promise<boolean> {
    return tried(this.state, async () => {
      const { draft, marks, made } = this.state.get();
      if (!draft || !marks) return;
      const saved = await this.#ask.publish(this.#id, draft, marks.length > 0);
      const others = made.filter(({ id }) => id !== saved.id);
      this.state.patch({ made: [saved, ...others], draft: undefined, marks: undefined });
    });
  }

  withdraw(id: string): Promise<boolean> {
    return tried(this.state, async () => {
      await this.#ask.withdraw(id);
      const { made } = this.state.get();
      this.state.patch({ made: made.filter((one) => one.id !== id) });
    });
  }
}
