/** The tone for a person's line that nobody sees, and the item of the menu that switches it off. */

import { type Area, areaOf, type Persist } from "../../open/store.ts";
import { button } from "../../open/view/dom.ts";
import type { Settings } from "../../settings.ts";

/** In the storage of the conversation, after the visitor has switched the sound off. */
const KEY = "kefu-chat:sound";

/** Two notes, in Hz, one after another. */
const NOTES = [784, 1_047];
const NOTE_SECONDS = 0.14;
const LOUDNESS = 0.12;

/** Plays the tone, where the browser allows it: after the visitor has used the page. */
function play(): void {
  if (!navigator.userActivation?.hasBeenActive) return;
  const audio = new AudioContext();
  for (const [at, note] of NOTES.entries()) {
    const [tone, volume] = [new OscillatorNode(audio, { frequency: note }), new GainNode(audio)];
    const start = audio.currentTime + at * NOTE_SECONDS;
    // A tone that stops at once would click.
    volume.gain.setValueAtTime(LOUDNESS, start);
    volume.gain.exponentialRampToValueAtTime(0.001, start + 2 * NOTE_SECONDS);
    tone.connect(volume).connect(audio.destination);
    tone.start(start);
    tone.stop(start + 2 * NOTE_SECONDS);
    if (at === NOTES.length - 1) tone.onended = () => void audio.close();
  }
}

interface Sound {
  /** Adds its item to the menu, once. */
  offer(items: Element | null | undefined): void;
  ring(): void;
}

/** `name`: of the item. `page`: whose storage keeps the choice, as long as the conversation. */
export function soundOf(page: Window | null, settings: Settings, name: string): Sound {
  let isOn = true;
  const stored = (act: (area: Area | undefined) => void): void => {
    try {
      if (page) act(areaOf(page, settings.persist as Persist));
    } catch {
      // Storage is blocked or full.
    }
  };
  stored((area) => {
    isOn = !area?.getItem(KEY);
  });
  const item = button({ role: "menuitemcheckbox", tabIndex: -1, ariaChecked: `${isOn}` }, () => {
    isOn = !isOn;
    item.ariaChecked = `${isOn}`;
    stored((area) => (isOn ? area?.removeItem(KEY) : area?.setItem(KEY, "off")));
    // Says what the sound is like.
    if (isOn) play();
  });
  item.textContent = name;
  const isAllowed = settings.sound !== "off";
  return {
    offer: (items) => {
      if (isAllowed && !item.isConnected) items?.querySelector(".if-kept")?.before(item);
    },
    ring: () => {
      if (isAllowed && isOn) play();
    },
  };
}
