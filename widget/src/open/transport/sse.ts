/**
 * Parses the bytes of an OpenAI-style event stream into events, incrementally, without I/O.
 */

import { own } from "../own.ts";
import { codeOf } from "../retry.ts";
import { sourcesOf } from "../sources.ts";
import type { Sources, Trouble } from "../turn.ts";

export type Arrival =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "finish"; readonly reason: string }
  /** The pages that the answer may cite. The list comes before the text. */
  | { readonly kind: "sources"; readonly sources: Sources }
  /** The pages that the answer cites, and whether these answer the question. */
  | { readonly kind: "cited"; readonly cited: unknown; readonly isAnswered: boolean }
  /** An event of the service for a feature. */
  | { readonly kind: "event"; readonly event: unknown }
  | { readonly kind: "done" }
  | { readonly kind: "error"; readonly code: Trouble };

/** Maximum length of an event in characters. Kefu's events are far smaller. */
const MAX_EVENT_CHARS = 1 << 20;

export class AnswerDecoder {
  readonly #utf8 = new TextDecoder();
  #rest = "";
  /** Whether the text so far ends with a carriage return; a line feed then belongs to it. */
  #return = false;
  #data: string | undefined;

  /** The events that these bytes complete, in order. An incomplete event is kept for the next bytes. */
  decode(bytes: Uint8Array): readonly Arrival[] {
    const arrivals: Arrival[] = [];
    const text = this.#utf8.decode(bytes, { stream: true });
    // Only new text is searched, so that a long line in many pieces takes linear time.
    const lines = (this.#return ? text.replace(/^\n/, "") : text).split(/\r\n?|\n/);
    if (text) this.#return = text.endsWith("\r");
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const data = /^data(?:: ?(.*))?$/s.exec(line);
      if (data) {
        const before = this.#data === undefined ? "" : `${this.#data}\n`;
        this.#data = before + (data[1] ?? "");
      } else if (!line) {
        if (this.#data !== undefined) arrivals.push(...arrivalsOf(this.#data));
        this.#data = undefined;
      }
    }
    if (this.#rest.length + (this.#data?.length ?? 0) > MAX_EVENT_CHARS) {
      this.#rest = "";
      this.#data = undefined;
      arrivals.push(BROKEN);
    }
    return arrivals;
  }
}

const BROKEN: Arrival = { kind: "error", code: "upstream_service_unavailable" };

function arrivalsOf(data: string): Arrival[] {
  if (data === "[DONE]") return [{ kind: "done" }];
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch {
    return [BROKEN];
  }
  const error = own(event, "error");
  if (error != null) {
    return [{ kind: "error", code: codeOf(own(error, "code")) }];
  }
  // A usage chunk has no choice, a first chunk often only a role; reasoning is not shown.
  const choices = own(event, "choices");
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const text = own(own(choice, "delta"), "content");
  const reason = own(choice, "finish_reason");
  const arrivals: Arrival[] = [];
  const object = own(event, "object");
  if (object === "kefu.sources") {
    const [pages, links, used] = ["sources", "links", "used"].map((name) => own(event, name));
    const isAnswered = own(event, "answered") !== false;
    const sources = sourcesOf(pages, links, used);
    arrivals.push(
      sources ? { kind: "sources", sources } : { kind: "cited", cited: used, isAnswered },
    );
    if (own(event, "follow_ups")) arrivals.push({ kind: "event", event });
  } else if (/^kefu\./.test(`${object}`)) arrivals.push({ kind: "event", event });
  if (typeof text === "string" && text) arrivals.push({ kind: "text", text });
  if (typeof reason === "string") arrivals.push({ kind: "finish", reason });
  return arrivals;
}
