/** Converts the settings into the options of the chat. Invalid values get their defaults. */

import { isOn, type Settings, textOf } from "../settings.ts";
import type { Texts } from "./english.ts";
import type { Persist } from "./store.ts";

export interface Options {
  /** Maximum number of automatic retries of a message. */
  readonly retries: number;
  readonly firstByteMs: number;
  readonly stallMs: number;
  readonly title: string;
  readonly greeting: string;
  /** The text that the visitor must accept before anything is sent. */
  readonly consent: string | undefined;
  /** The address of the site's privacy page. */
  readonly privacyUrl: string | undefined;
  /** The storage in which the conversation is kept for the visitor's next page. */
  readonly persist: Persist;
  /**
   * Whether the panel opens with the page. On small screens, where it would cover the page, the
   * panel does not open.
   */
  readonly open: boolean;
}

const RETRIES = 3;
const FIRST_BYTE_SECONDS = 5;
const STALL_SECONDS = 10;
const LONGEST_SECONDS = 600;

/** The settings that a site may write for single languages, such as `data-greeting-zh`. */
export const BY_LANGUAGE = ["title", "greeting", "suggestions", "consent", "tip"];

/** Gives the settings the texts that the site has written for `language`: first `zh-CN`, then `zh`. */
export function chooseTexts(settings: Settings, language: string): void {
  const [primary = ""] = language.split("-");
  for (const name of BY_LANGUAGE) {
    for (const tag of [primary, language]) {
      // As the browser writes the rest of an attribute's name: `ZhCn`.
      const suffix = tag.toLowerCase().replace(/(?:^|-)(.)/g, (_, letter) => letter.toUpperCase());
      const text = settings[name + suffix];
      if (text !== undefined) Object.assign(settings, { [name]: text });
    }
  }
}

export function readOptions(settings: Settings, texts: Texts): Options {
  const setting = (name: string): string | undefined => textOf(settings[name]);
  return {
    retries: /^[0-5]$/.test(setting("retry") ?? "") ? Number(setting("retry")) : RETRIES,
    firstByteMs: milliseconds(setting("firstByteTimeout"), FIRST_BYTE_SECONDS),
    stallMs: milliseconds(setting("stallTimeout"), STALL_SECONDS),
    title: setting("title") ?? texts.title,
    greeting: setting("greeting") ?? texts.greeting,
    consent: setting("consent"),
    privacyUrl: setting("privacyUrl"),
    persist: (/^(local|none)$/.exec(setting("persist") ?? "")?.[0] ?? "session") as Persist,
    open: isOn(settings.open),
  };
}

/** A setting in seconds, as in the settings of the service, converted to milliseconds. */
function milliseconds(value: string | undefined, defaultSeconds: number): number {
  const seconds = /^\d+(\.\d+)?$/.test(value ?? "") ? Number(value) : 0;
  return (seconds > 0 && seconds <= LONGEST_SECONDS ? seconds : defaultSeconds) * 1_000;
}
