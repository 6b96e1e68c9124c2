/** Who waits for the operator: asked every few seconds while the panel is open. */

import type { Queue, Row } from "../types.ts";
import { Store } from "./store.ts";
import { reasonOf } from "./trouble.ts";

const LOOK_MS = 4_500;
/** The pause for each chat of a long queue: on DynamoDB each costs a read unit. */
const ROW_MS = 280;
/** The pause until somebody has signed in. */
const LOCKED_MS = 500;
/** The pause after a failure. */
const LONG_LOOK_MS = 30_000;

export interface Waiting {
  /** The number of chats that wait for the operator; "" for none. */
  readonly count: string;
  /** The numbers of chats that wait for a person, and of those with one. */
  readonly waits: string;
  readonly held: string;
  /** The chats that wait for a person, and the operator's own whose visitor wrote last. */
  readonly rows: readonly Row[];
  /** The ids of the chats that wait for a person or are with one. */
  readonly ids: ReadonlySet<string>;
  /** The chats that were not in the look before, or have a new line. */
  readonly fresh: readonly Row[];
  /** Why deliveries fail. */
  readonly trouble: string;
  /** Why the last look failed, so that the chats may be others; empty if it did not. */
  readonly lost: string;
  /** Whether the chats differ from those of the look before. */
  readonly hasChanged: boolean;
}

export interface Watched {
  /** The name of the operator. */
  name(): string;
  /** Whether the operator has a chat on the screen. */
  isSeen(id: string): boolean;
  /** Undefined while nobody is signed in. */
  ask(): Promise<Queue> | undefined;
}

export class Watch {
  readonly state = new Store<Waiting>({
    count: "",
    waits: "",
    held: "",
    rows: [],
    ids: new Set(),
    fresh: [],
    trouble: "",
    lost: "",
    hasChanged: false,
  });
  readonly #watched: Watched;
  /** The chats of the last look, by their newest lines. */
  #known: ReadonlySet<string> = new Set();
  /** The newest line of each chat that was on the screen. */
  readonly #seen = new Map<string, number>();

  constructor(watched: Watched) {
    this.#watched = watched;
    void this.#look();
  }

  async #look(): Promise<void> {
    let pause = LONG_LOOK_MS;
    try {
      const queue = await this.#watched.ask();
      if (queue) this.#tell(queue);
      pause = queue ? Math.max(LOOK_MS, ROW_MS * this.state.get().ids.size) : LOCKED_MS;
    } catch (error) {
      // The next look tries again.
      this.state.patch({ fresh: [], hasChanged: false, lost: reasonOf(error) });
    }
    setTimeout(() => void this.#look(), pause);
  }

  #tell({ waiting, person, trouble }: Queue): void {
    for (const { id, updated_at } of person.rows) {
      if (this.#watched.isSeen(id)) this.#seen.set(id, updated_at);
    }
    const name = this.#watched.name();
    const own = person.rows.filter((row) => row.line_by === "" && row.attendance.operator === name);
    const unread = own.filter((row) => this.#seen.get(row.id) !== row.updated_at);
    const rows = [...waiting.rows, ...unread];
    const known = this.#known;
    const fresh = rows.filter((row) => !known.has(keyOf(row)));
    this.#known = new Set(rows.map(keyOf));
    const count = countOf(rows, waiting.cursor);
    const waits = countOf(waiting.rows, waiting.cursor);
    const held = countOf(person.rows, person.cursor);
    const hasChanged = fresh.length > 0 || known.size !== rows.length;
    const ids = new Set([...waiting.rows, ...person.rows].map(({ id }) => id));
    const lost = "";
    this.state.set({
      count,
      waits,
      held,
      rows: [...waiting.rows, ...own],
      ids,
      fresh,
      trouble,
      lost,
      hasChanged,
    });
  }
}

function keyOf({ id, attendance, updated_at }: Row): string {
  return `${id} ${attendance.state === "person" && updated_at}`;
}

function countOf(rows: readonly Row[], cursor: string | null): string {
  return rows.length ? `${rows.length}${cursor ? "+" : ""}` : "";
}
