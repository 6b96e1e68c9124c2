/** Tells the operator who waits: in the title, the navigation, by notifications and a sound. */

import { type Api, operatorName } from "./api.ts";
import { button, el } from "./dom.ts";
import { t } from "./texts.ts";
import type { Queue, Row } from "./types.ts";

const LOOK_MS = 4_500;
/** The pause while many wait, because each look reads them, and after a failure. */
const LONG_LOOK_MS = 30_000;

export class Watch {
  /** Why deliveries fail. */
  readonly node = el("p", { class: "trouble", role: "alert", hidden: true });
  /** The switch of notifications and the sound. */
  readonly control = button(
    { class: "quiet when-open", "aria-pressed": "false" },
    () => void this.#toggle(),
    t.notify,
  );
  readonly #api: Api;
  readonly #changed: (count: string) => void;
  /** The chats of the last look, by their newest lines. */
  #known: ReadonlySet<string> = new Set();
  /** The newest line of each chat that was on the screen. */
  readonly #seen = new Map<string, number>();
  /** For the sound; undefined while the switch is off. */
  #sound: AudioContext | undefined;

  /** `changed` is called with the number of chats that wait for the operator, "" for none. */
  constructor(api: Api, changed: (count: string) => void) {
    this.#api = api;
    this.#changed = changed;
    this.control.hidden = !("Notification" in globalThis);
    void this.#look();
  }

  async #look(): Promise<void> {
    let pause = LONG_LOOK_MS;
    try {
      if (this.#api.hasPass && !document.body.classList.contains("locked")) {
        const queue = await this.#api.queue();
        this.#tell(queue);
        if (!queue.waiting.cursor) pause = LOOK_MS;
      } else pause = LOOK_MS;
    } catch {
      // The next look tries again. An expired pass shows with the operator's next click.
    }
    setTimeout(() => void this.#look(), pause);
  }

  #tell({ waiting, person, trouble }: Queue): void {
    const isLookedAt = (id: string) => !document.hidden && location.hash === `#s=${id}`;
    for (const { id, updated_at } of person.rows) {
      if (isLookedAt(id)) this.#seen.set(id, updated_at);
    }
    const unread = person.rows.filter(
      (row) =>
        row.line_by === "" &&
        row.attendance.operator === operatorName() &&
        this.#seen.get(row.id) !== row.updated_at,
    );
    const key = (row: Row) => `${row.id} ${row.attendance.state === "person" && row.updated_at}`;
    const rows = [...waiting.rows, ...unread];
    const known = this.#known;
    const fresh = rows.filter((row) => !known.has(key(row)));
    this.#known = new Set(rows.map(key));
    const count = rows.length ? `${rows.length}${waiting.cursor ? "+" : ""}` : "";
    document.title = count ? `(${count}) ${t.title}` : t.title;
    this.node.textContent = trouble;
    this.node.hidden = trouble === "";
    if (fresh.length > 0 || known.size !== rows.length) this.#changed(count);
    for (const row of fresh) if (!isLookedAt(row.id)) this.#notify(row);
  }

  #notify(row: Row): void {
    if (!this.#sound) return;
    const body = row.line || row.title;
    const title = row.attendance.state === "waiting" ? t.somebodyWaits : t.visitorWrote;
    const shown = new Notification(title, { body, tag: row.id });
    shown.addEventListener("click", () => {
      focus();
      location.hash = `s=${row.id}`;
      shown.close();
    });
    chime(this.#sound);
  }

  async #toggle(): Promise<void> {
    const isWanted = !this.#sound && (await Notification.requestPermission()) === "granted";
    await this.#sound?.close();
    // A sound needs a click before it.
    this.#sound = isWanted ? new AudioContext() : undefined;
    this.control.setAttribute("aria-pressed", String(isWanted));
  }
}

/** A short tone. */
function chime(sound: AudioContext): void {
  const tone = sound.createOscillator();
  const volume = sound.createGain();
  volume.gain.value = 0.1;
  tone.frequency.value = 740;
  tone.connect(volume).connect(sound.destination);
  tone.start();
  tone.stop(sound.currentTime + 0.2);
}
