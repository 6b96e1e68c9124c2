/** Notifications of the browser and a sound, behind one switch. */

import { button } from "./dom.ts";
import type { Waiting } from "./state/queue.ts";
import type { Store } from "./state/store.ts";
import { t } from "./texts.ts";
import type { Row } from "./types.ts";

export interface BellActs {
  /** Whether the operator has a chat on the screen. */
  isSeen(id: string): boolean;
  open(id: string): void;
}

/** Returns the switch. */
export function bell(waiting: Store<Waiting>, acts: BellActs): HTMLElement {
  /** Undefined while the switch is off. */
  let sound: AudioContext | undefined;
  const toggle = async (): Promise<void> => {
    const isWanted = !sound;
    // Where the browser refuses notifications, the sound is left.
    if (isWanted) await Notification.requestPermission();
    await sound?.close();
    // A sound needs a click before it.
    sound = isWanted ? new AudioContext() : undefined;
    node.ariaPressed = String(isWanted);
  };
  const quiet = { className: "quiet when-open", ariaPressed: "false" };
  const node = button(quiet, () => void toggle(), t.notify);
  node.hidden = !("Notification" in globalThis);
  waiting.listen(({ fresh }) => {
    for (const row of fresh) {
      if (!sound || acts.isSeen(row.id)) continue;
      if (Notification.permission === "granted") notify(row, acts);
      chime(sound);
    }
  });
  return node;
}

function notify(row: Row, { open }: BellActs): void {
  const body = row.line || row.title;
  const title = row.attendance.state === "waiting" ? t.somebodyWaits : t.visitorWrote;
  const shown = new Notification(title, { body, tag: row.id });
  shown.addEventListener("click", () => {
    focus();
    open(row.id);
    shown.close();
  });
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
