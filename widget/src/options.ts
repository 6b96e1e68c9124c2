/** What the settings mean to the chat. A wrong value falls back to its default. */

import { isOn, type Settings, textOf } from "./settings.ts";
import type { Persist } from "./store.ts";
import { readSuggestions } from "./suggestions.ts";
import type { Texts } from "./texts.ts";

export interface Options {
  /** Automatic requests for one message, beside the first. */
  readonly retries: number;
  readonly firstByteMs: number;
  readonly stallMs: number;
  readonly title: string;
  readonly greeting: string;
  /** Offered before the first question. */
  readonly suggestions: readonly string[];
  /** What the visitor must agree to before anything is sent. */
  readonly consent: string | undefined;
  /** Of the site's own words on privacy. */
  readonly privacyUrl: string | undefined;
  /** Where the conversation is kept for the visitor's next page. */
  readonly persist: Persist;
  /** Open from the start, where the panel does not cover the page. */
  readonly open: boolean;
}

const RETRIES = 3;
const FIRST_BYTE_SECONDS = 5;
const STALL_SECONDS = 10;
const LONGEST_SECONDS = 600;

export function readOptions(settings: Settings, texts: Texts): Options {
  const setting = (name: string): string | undefined => textOf(settings[name]);
  return {
    retries: /^[0-5]$/.test(setting("retry") ?? "") ? Number(setting("retry")) : RETRIES,
    firstByteMs: milliseconds(setting("firstByteTimeout"), FIRST_BYTE_SECONDS),
    stallMs: milliseconds(setting("stallTimeout"), STALL_SECONDS),
    title: setting("title") ?? texts.title,
    greeting: setting("greeting") ?? texts.greeting,
    suggestions: readSuggestions(settings.suggestions),
    consent: setting("consent"),
    privacyUrl: setting("privacyUrl"),
    persist: (/^(local|none)$/.exec(setting("persist") ?? "")?.[0] ?? "session") as Persist,
    open: isOn(settings.open),
  };
}

/** Seconds, as in the settings of the service. */
function milliseconds(value: string | undefined, defaultSeconds: number): number {
  const seconds = /^\d+(\.\d+)?$/.test(value ?? "") ? Number(value) : 0;
  return (seconds > 0 && seconds <= LONGEST_SECONDS ? seconds : defaultSeconds) * 1_000;
}
