/** The opened session: its messages, who attends to it, and what the operator does in it. */

import { uuid } from "../../src/open/uuid.ts";
import type {
  Attendance,
  ContactRequest,
  Line,
  Message,
  News,
  VisitorMail,
  VisitorPage,
  Whole,
} from "../types.ts";
import { Store } from "./store.ts";
import { Missing, tried } from "./trouble.ts";

const POLL_MS = 3_000;
/** The server forgets after 8 seconds that an operator writes. */
const WRITING_MS = 4_000;
/** An answer may be stored after messages with greater ids; this number of ids is read again. */
const OVERLAP = 40;

export interface Talk {
  readonly attendance: Attendance;
  /** The messages that came, or whose answer ended, while the session was open. */
  readonly fresh: readonly Message[];
  /** The visitor's requests for a person that came while the session was open. */
  readonly asked: readonly ContactRequest[];
  /** Null if none of the lines is or was to be mailed. */
  readonly mail: VisitorMail | null;
  /** Undefined until the first look. */
  readonly page?: VisitorPage;
  /** Why the operator's last act failed; empty if it did not. */
  readonly trouble: string;
  /** Why the operator's last line was sent as it is, without a translation; empty otherwise. */
  readonly untranslated: string;
  /** Whether the session was deleted, so that nothing more can be done in it. */
  readonly isDeleted: boolean;
}

export interface ChatRequests {
  session(id: string): Promise<Whole>;
  talk(id: string, after: number): Promise<News>;
  attend(id: string, state: string, operator: string, from?: string): Promise<Attendance>;
  writing(id: string, operator: string): Promise<void>;
  say(id: string, lineId: string, operator: string, line: Line): Promise<string>;
}

const NOBODY: Attendance = { state: "bot", operator: "", since: 0 };

export class Chat {
  readonly state: Store<Talk>;
  readonly id: string;
  readonly #ask: ChatRequests;
  readonly #known: Set<number>;
  readonly #knownRequests: Set<string>;
  #lineId = uuid();
  /** When the visitor was told last that the operator writes. */
  #saidAt = 0;
  #isOpen = true;

  constructor({ session, messages, requests = [], mail = null }: Whole, ask: ChatRequests) {
    this.id = session.id;
    this.#ask = ask;
    this.#known = new Set(
      messages.filter(({ status }) => status !== "pending").map(({ id }) => id),
    );
    this.#knownRequests = new Set(requests.map(({ id }) => id));
    const attendance = session.attendance ?? NOBODY;
    const none = { fresh: [], asked: [], trouble: "", untranslated: "", isDeleted: false };
    this.state = new Store<Talk>({ attendance, mail, ...none });
    setTimeout(() => void this.#poll(), POLL_MS);
  }

  /** Ends the requests for new messages. */
  close(): void {
    this.#isOpen = false;
  }

  /** Looks who has the session, which is in the queue now: somebody may have taken it unasked. */
  queued(): void {
    if (!isLive(this.state.get().attendance)) this.look();
  }

  /** Looks whether there is anything new. */
  look(): void {
    void this.#look().catch(() => {});
  }

  /** Asks for news while the visitor's page is open, somebody waits or a mail is due. */
  async #poll(): Promise<void> {
    if (!this.#isOpen) return;
    const { attendance, mail, page } = this.state.get();
    // A failed request is repeated by the next request.
    if ((isLive(attendance) || mail?.due_at || page?.is_open) && !document.hidden)
      await this.#look().catch(() => {});
    setTimeout(() => void this.#poll(), POLL_MS);
  }

  async #look(): Promise<void> {
    const after = Math.max(0, ...this.#known) - OVERLAP;
    const told = await this.#ask.talk(this.id, after).catch((error) => {
      if (error instanceof Missing) this.#deleted();
      throw error;
    });
    const { attendance, messages, mail, page } = told;
    const more = await this.#askedSince(attendance);
    // Nothing is awaited from here on: another look may have ended meanwhile.
    const came = messages.filter(({ id, status }) => !this.#known.has(id) && status !== "pending");
    for (const { id } of came) this.#known.add(id);
    const { asked, fresh } = this.state.get();
    this.state.patch({
      attendance,
      mail,
      page,
      fresh: [...fresh, ...came],
      asked: [...asked, ...more],
    });
  }

  #deleted(): void {
    this.close();
    this.state.patch({ isDeleted: true });
  }

  /** The requests that are new, if the visitor waits now and did not before. */
  async #askedSince({ state, since }: Attendance): Promise<readonly ContactRequest[]> {
    if (state !== "waiting" || since === this.state.get().attendance.since) return [];
    const { requests = [] } = await this.#ask.session(this.id);
    const came = requests.filter(({ id }) => !this.#knownRequests.has(id));
    for (const { id } of came) this.#knownRequests.add(id);
    return came;
  }

  /** Takes the session over, hands it back or closes it. `takenFrom`: the operator who has it. */
  attend(state: string, operator: string, takenFrom?: string): Promise<boolean> {
    return this.#tried(async () => {
      const attendance = await this.#ask.attend(this.id, state, operator, takenFrom);
      this.state.patch({ attendance });
    });
  }

  /** The operator has typed: says so to the visitor, every few seconds. */
  typed(): void {
    const now = Date.now();
    if (now - this.#saidAt < WRITING_MS) return;
    this.#saidAt = now;
    const { operator } = this.state.get().attendance;
    // A failure shows with the line itself.
    void this.#ask.writing(this.id, operator).catch(() => {});
  }

  /** Writes to the visitor. */
  async say(line: Line): Promise<boolean> {
    const { operator } = this.state.get().attendance;
    // A repetition has the same id: the line may have been stored although its answer was lost.
    const isSaid = await this.#tried(async () => {
      const untranslated = await this.#ask.say(this.id, this.#lineId, operator, line);
      this.state.patch({ untranslated });
    });
    if (isSaid) {
      this.#lineId = uuid();
      this.#saidAt = 0;
    }
    return isSaid;
  }

  /** Returns whether the work succeeded; the state has the reason if it did not. */
  async #tried(work: () => Promise<void>): Promise<boolean> {
    const isDone = await tried(this.state, async () => {
      await work();
      await this.#look();
    });
    if (!isDone) await this.#look().catch(() => {}); // another operator may have the session now
    return isDone;
  }
}

/** Whether the visitor waits for a person, or is with one. */
export function isLive({ state }: Attendance): boolean {
  return ["waiting", "person"].includes(state);
}
