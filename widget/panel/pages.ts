/** The views that the address names, with their states and requests. */

import type { Api } from "./api.ts";
import { contactsView } from "./contacts.ts";
import { conversation, type StoredActs } from "./conversation.ts";
import { insightsView, PERIOD, PERIODS, since } from "./insights.ts";
import { download } from "./save.ts";
import type { AnswerActs } from "./side.ts";
import { signInsView } from "./sign-ins.ts";
import { Answers } from "./state/answers.ts";
import { Chat } from "./state/chat.ts";
import type { Operator } from "./state/operator.ts";
import { Requests } from "./state/requests.ts";
import { SignIns } from "./state/sign-ins.ts";
import type { Store } from "./state/store.ts";
import { Translation } from "./state/translation.ts";
import type { About, Row, Whole } from "./types.ts";

/** A view, or what draws it. */
export type Made = HTMLElement | (() => HTMLElement);

export interface Surroundings {
  readonly api: Api;
  readonly operator: Store<Operator>;
  readonly about: Store<About | undefined>;
  /** Does what the operator asked for, shows why it failed, and returns whether it succeeded. */
  attempt(work: () => Promise<void>): Promise<boolean>;
  show(make: () => Promise<Made>): Promise<void>;
  /** A session may now be with another operator, or with none. */
  attended(): void;
  /** A session was deleted. */
  removed(): void;
}

/** Whether the operator changes nothing. */
export function isReader(about: Store<About | undefined>): boolean {
  return about.get()?.may === "read";
}

export async function requestsPage({ api, about, attempt }: Surroundings): Promise<HTMLElement> {
  const listed = new Requests(await api.contacts(), api);
  const change = {
    mark: (id: string, done: boolean) => void attempt(() => listed.mark(id, done)),
    send: (id: string) => void attempt(() => listed.send(id)),
    remove: (id: string, wantsReceipt: boolean) =>
      void attempt(async () => {
        keep(await api.removeRequest(id, wantsReceipt), id);
        listed.drop(id);
      }),
  };
  const more = () => void attempt(() => listed.more());
  return contactsView(listed.state, { more, ...(isReader(about) ? {} : { change }) });
}

export async function signInsPage({ api, about, attempt }: Surroundings): Promise<HTMLElement> {
  const listed = new SignIns(await api.signIns(), (id) => api.endSignIn(id));
  const end = (id: string) => void attempt(() => listed.end(id));
  return signInsView(listed.state, isReader(about) ? undefined : end);
}

/** The period is in the address: #insights=7. */
export async function insightsPage({ api }: Surroundings, hash: string): Promise<HTMLElement> {
  const wanted = Number(hash.split("=")[1]);
  const days = PERIODS.find((one) => one === wanted) ?? PERIOD;
  const [found, before, facts] = await Promise.all([
    api.insights(since(days)),
    api.days(since(2 * days), since(days + 1)),
    api.about(),
  ]);
  return insightsView(found, before, days, facts);
}

/** The opened session. */
export class SessionPage {
  readonly #with: Surroundings;
  #chat: Chat | undefined;
  /** When the opened session was changed, as far as it is shown. */
  #changedAt = 0;
  /** The rows of the list. */
  #rows: readonly Row[] = [];

  constructor(surroundings: Surroundings) {
    this.#with = surroundings;
  }

  async open(id: string): Promise<Made> {
    const kept = await this.#with.api.session(id);
    return () => this.#view(kept);
  }

  /** `ids`: the sessions that wait for a person or are with one. */
  watch(ids: ReadonlySet<string>): void {
    if (this.#chat && ids.has(this.#chat.id)) this.#chat.queued();
  }

  /** A session that nobody attends to has new messages if its row in the list has changed. */
  listed(rows: readonly Row[]): void {
    const [before, now] = [this.#rows, rows].map((some) =>
      some.find(({ id }) => id === this.#chat?.id),
    );
    this.#rows = rows;
    // A session whose row is gone may have been deleted.
    if (before && !now) this.#chat?.look();
    const changedAt = now?.updated_at ?? 0;
    if (changedAt <= this.#changedAt) return;
    this.#changedAt = changedAt;
    this.#chat?.queued();
  }

  /** Ends the requests for new messages. */
  close(): void {
    this.#chat?.close();
    this.#chat = undefined;
  }

  #view(kept: Whole): HTMLElement {
    return conversation(kept, { about: this.#with.about.get(), stored: this.#acts(kept) });
  }

  #acts(kept: Whole): StoredActs {
    const { about, api, operator, attended } = this.#with;
    const { id } = kept.session;
    const reads = isReader(about);
    this.close();
    const chat = new Chat(kept, api);
    this.#chat = chat;
    this.#changedAt = kept.session.updated_at;
    chat.look();
    const translates = !reads && about.get()?.translates;
    const translation = translates
      ? new Translation(operator.get().translates, (text) => api.translation(id, text))
      : undefined;
    return {
      ...(translation ? { translation } : {}),
      exported: (format) => api.exported(id, format),
      image: (name) => api.image(id, name),
      talk: {
        id,
        state: chat.state,
        operator,
        replies: about.get()?.replies ?? [],
        isReader: reads,
        attend: async (state, name, from) => {
          const isDone = await chat.attend(state, name, from);
          attended();
          return isDone;
        },
        say: (text) => chat.say({ text, translate: translation?.isOn.get() ?? false }),
        typed: () => chat.typed(),
      },
      ...(kept.before ? { earlier: () => void this.#earlier(kept, Number(kept.before)) } : {}),
      ...(reads ? {} : this.#changes(id)),
    };
  }

  /** The functions that an operator who only reads does not have. */
  #changes(id: string): Partial<StoredActs> {
    const { api, about, attempt, removed } = this.#with;
    return {
      ...(about.get()?.has_pages ? { answers: this.#answers(id) } : {}),
      mark: (request, done) => attempt(() => api.markRequest(request, done)),
      remove: (wantsReceipt) =>
        void attempt(async () => {
          keep(await api.remove(id, wantsReceipt), id);
          this.close();
          removed();
        }),
    };
  }

  /** Adds the messages before those that are shown, which stay where they are. */
  async #earlier(kept: Whole, before: number): Promise<void> {
    const { api, show } = this.#with;
    await show(async () => {
      const older = await api.session(kept.session.id, before);
      const messages = [...older.messages, ...kept.messages];
      return () => this.#view({ ...older, messages, calls: [...older.calls, ...kept.calls] });
    });
    const first = kept.messages.find(({ role }) => role === "user");
    document.getElementById(`m-${first?.id}`)?.scrollIntoView();
  }

  #answers(id: string): AnswerActs {
    const answers = new Answers(id, this.#with.api);
    void answers.load();
    return {
      writing: answers.state,
      write: (question) => {
        if (question === undefined) void answers.fromTalk();
        else answers.toQuestion(question, this.#with.operator.get().name);
      },
      edit: () => answers.edit(),
      cancel: () => answers.cancel(),
      preview: (fields) => void answers.preview(fields),
      publish: () => void answers.publish(),
      withdraw: (answer) => void answers.withdraw(answer),
    };
  }
}

/** Saves a receipt of a deletion, if there is one. */
function keep(receipt: Blob | undefined, id: string): void {
  if (receipt) download(receipt, `receipt-${id.slice(0, 8)}.json`);
}
