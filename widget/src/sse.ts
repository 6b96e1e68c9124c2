/**
 * Bytes of an OpenAI-style event stream, to what they mean for an answer. Incremental, no I/O.
 */

import { own } from "./own.ts";
import type { Code } from "./retry.ts";
import { codeOf } from "./retry.ts";

export type Arrival =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "finish"; readonly reason: string }
  | { readonly kind: "done" }
  | { readonly kind: "error"; readonly code: Code };

/** One event of ours is far smaller; what grows past this is not our service. */
const MAX_EVENT_CHARS = 1 << 20;

export class AnswerDecoder {
  readonly #utf8 = new TextDecoder();
  #rest = "";
  #data: string | undefined;

  /** What these bytes complete, in order. Bytes of an unfinished event wait for their rest. */
  decode(bytes: Uint8Array): readonly Arrival[] {
    const arrivals: Arrival[] = [];
    // A carriage return at the end may be half of a line's end.
    const lines = (this.#rest + this.#utf8.decode(bytes, { stream: true })).split(
      /\r\n|\n|\r(?!$)/,
    );
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
  // A usage chunk has no choice; a first chunk often has only a role; reasoning is not shown.
  const choices = own(event, "choices");
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const text = own(own(choice, "delta"), "content");
  const reason = own(choice, "finish_reason");
  const arrivals: Arrival[] = [];
  if (typeof text === "string" && text) arrivals.push({ kind: "text", text });
  if (typeof reason === "string") arrivals.push({ kind: "finish", reason });
  return arrivals;
}
