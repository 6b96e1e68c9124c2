/** The site's additions to questions: the preset, and facts about the page. */

import type { Ask } from "../../open/transport/http.ts";
import { type Settings, textOf } from "../../settings.ts";

/** The limits of the service. */
const MOST = 16;
const LONGEST_NAME = 64;
const LONGEST_TEXT = 500;
const LONGEST = 2_000;

interface Fields {
  readonly config_id?: string;
  readonly context?: Readonly<Record<string, string>>;
}

/** Sends requests by `ask`; requests to `apiUrl` get the current fields of the settings. */
export function adding(ask: Ask, apiUrl: string, settings: Settings): Ask {
  return (url, init) => {
    const fields = JSON.stringify(fieldsOf(settings));
    if (`${url}` !== apiUrl || init.method !== "POST" || fields === "{}") return ask(url, init);
    // The body is not parsed: `outgoing` has protected its array against the page's toJSON.
    return ask(url, { ...init, body: `${`${init.body}`.slice(0, -1)},${fields.slice(1)}` });
  };
}

function fieldsOf(settings: Settings): Fields {
  const preset = textOf(settings.preset);
  const context = capped(factsOf(settings.context));
  return { ...(preset && { config_id: preset }), ...(context && { context }) };
}

/** An object, a function that returns one, its JSON, or `page` for title and address. */
function factsOf(value: unknown): unknown {
  try {
    if (typeof value === "function") return value();
    if (typeof value !== "string") return value;
    // The address without query and fragment, which may name the visitor.
    if (value === "page") {
      return { title: document.title, url: location.origin + location.pathname };
    }
    return JSON.parse(value);
  } catch (error) {
    console.warn(`Chat widget: data-context: ${error}`);
    return undefined;
  }
}

/** The facts that are texts, numbers or booleans, cut to the limits; undefined without any. */
export function capped(facts: unknown): Readonly<Record<string, string>> | undefined {
  if (typeof facts !== "object" || facts === null) return undefined;
  const kept: [string, string][] = [];
  let left = LONGEST;
  for (const [name, value] of Object.entries(facts)) {
    if (!/^(string|number|boolean)$/.test(typeof value) || name.length > LONGEST_NAME) continue;
    const room = Math.min(LONGEST_TEXT, left - name.length);
    const text = `${value}`.slice(0, Math.max(0, room)).toWellFormed();
    if (text.trim() === "" || kept.length === MOST) continue;
    kept.push([name, text]);
    left -= name.length + text.length;
  }
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}
