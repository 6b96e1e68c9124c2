/**
 * What the site owner may set: attributes of the script tag, or `window.ChatWidgetConfig`;
 * attributes win. A wrong value falls back to its default, except the address of the service:
 * without it there is nothing to talk to.
 */

import { own } from "./own.ts";
import type { Persist } from "./store.ts";
import { readSuggestions } from "./suggestions.ts";
import { type Language, languageOf, TEXTS } from "./texts.ts";

export interface Options {
  readonly apiUrl: URL;
  /** Automatic requests for one message, beside the first. */
  readonly retries: number;
  readonly firstByteMs: number;
  readonly stallMs: number;
  readonly language: Language;
  readonly title: string;
  readonly greeting: string;
  /** Offered before the first question. */
  readonly suggestions: readonly string[];
  /** What the visitor must agree to before anything is sent. */
  readonly consent: string | undefined;
  /** Where the conversation is kept for the visitor's next page. */
  readonly persist: Persist;
  readonly accent: string | undefined;
  readonly theme: "auto" | "light" | "dark";
  /** `auto`: where a line of the language ends, on the left for those read from the right. */
  readonly position: "auto" | "bottom-right" | "bottom-left";
  /** Open from the start, where the panel does not cover the page. */
  readonly open: boolean;
}

export type Attributes = Readonly<Record<string, string | undefined>>;

export interface Page {
  /** What a relative address is relative to. */
  readonly url: string;
  /** The `lang` of the page, then the browser's languages. */
  readonly languages: readonly string[];
}

const RETRIES = 3;
const FIRST_BYTE_SECONDS = 5;
const STALL_SECONDS = 10;
const LONGEST_SECONDS = 600;

/**
 * The options, or why there can be no widget. `attributes` are those of a `dataset`; `warn` is
 * told of what the owner should look at.
 */
export function readOptions(
  attributes: Attributes,
  config: unknown,
  page: Page,
  warn: (complaint: string) => void,
): Options | string {
  const setting = (name: string): string | undefined =>
    trimmed(own(attributes, name)) ?? trimmed(own(config, name));

  const apiUrl = readApiUrl(setting("apiUrl"), page.url);
  if (typeof apiUrl === "string") return apiUrl;
  const language = languageOf([setting("lang") ?? "", ...page.languages]);
  const texts = TEXTS[language];
  const accent = setting("accent");
  return {
    apiUrl,
    retries: /^[0-5]$/.test(setting("retry") ?? "") ? Number(setting("retry")) : RETRIES,
    firstByteMs: milliseconds(setting("firstByteTimeout"), FIRST_BYTE_SECONDS),
    stallMs: milliseconds(setting("stallTimeout"), STALL_SECONDS),
    language,
    title: setting("title") ?? texts.title,
    greeting: setting("greeting") ?? texts.greeting,
    suggestions: readSuggestions(
      own(attributes, "suggestions") ?? own(config, "suggestions"),
      warn,
    ),
    consent: setting("consent"),
    persist: oneOf(["session", "local", "none"], setting("persist")),
    accent: /^#([\da-f]{3}){1,2}$/i.test(accent ?? "") ? accent : undefined,
    theme: oneOf(["auto", "light", "dark"], setting("theme")),
    position: oneOf(["auto", "bottom-right", "bottom-left"], setting("position")),
    open: isOn(own(attributes, "open") ?? own(config, "open")),
  };
}

function readApiUrl(value: string | undefined, base: string): URL | string {
  if (value === undefined) return "data-api-url is missing: the address of the chat service.";
  let url: URL;
  try {
    url = new URL(value, base);
  } catch {
    return `data-api-url is not an address: ${value}`;
  }
  if (url.username !== "" || url.password !== "") {
    return "data-api-url must not hold a name or a password.";
  }
  if (url.protocol === "https:" || (url.protocol === "http:" && isLocal(url.hostname))) return url;
  return `data-api-url must be https (http only on localhost): ${value}`;
}

function isLocal(host: string): boolean {
  return (
    host === "localhost" ||
    host.endsWith(".localhost") ||
    host === "[::1]" ||
    /^127(\.\d+){3}$/.test(host)
  );
}

function trimmed(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

/** Seconds, as in the settings of the service. */
function milliseconds(value: string | undefined, defaultSeconds: number): number {
  const seconds = /^\d+(\.\d+)?$/.test(value ?? "") ? Number(value) : 0;
  return (seconds > 0 && seconds <= LONGEST_SECONDS ? seconds : defaultSeconds) * 1_000;
}

function oneOf<T extends string>(values: readonly [T, ...T[]], value: string | undefined): T {
  return values.find((known) => known === value) ?? values[0];
}

/** `data-open` without a value is on, as with HTML's own boolean attributes. */
function isOn(value: unknown): boolean {
  return value === true || value === "" || value === "true";
}
