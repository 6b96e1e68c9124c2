/** The HTTP functions that all transports share. */

import { own } from "../own.ts";
import { codeOfStatus, retryAfterMs } from "../retry.ts";
import { AnswerDecoder, type Arrival } from "./sse.ts";
import { type Ask, ConnectionLost, type Reply } from "./transport.ts";

export type { Ask } from "./transport.ts";

/** The options of a request with `body` as JSON. `lang`: the language of the answer's extra texts. */
export function post(body: object, lang?: string): RequestInit {
  return {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "text/event-stream",
      ...(lang && { "Accept-Language": lang }),
    },
    credentials: "omit",
    cache: "no-store",
    body: JSON.stringify(body),
  };
}

export const plainAsk: Ask = (url, init) => fetch(url, init);

/** Sends a request. Throws ConnectionLost if there is no response. */
export function connected(response: Promise<Response>): Promise<Response> {
  return response.catch(lost);
}

/** The address of `name` below the address of the chat API. */
export function endpoint(url: URL, name: string): URL {
  const to = new URL(url);
  to.pathname = `${url.pathname.replace(/\/$/, "")}/${name}`;
  return to;
}

export async function replyOf(response: Response): Promise<Reply> {
  const { status, headers, body } = response;
  if (status === 200 && body && headers.get("Content-Type")?.startsWith("text/event-stream")) {
    return { ok: true, batches: batches(body) };
  }
  const [said, message] = await errorOf(response, "code", "message");
  // A 200 without an event stream comes from a captive portal or a proxy.
  const code = codeOfStatus(status === 200 ? 502 : status, said);
  if (code === "forbidden" || code === "invalid_request") console.error(`Chat widget: ${message}`);
  return { ok: false, code, retryAfterMs: retryAfterMs(headers.get("Retry-After"), Date.now()) };
}

/** Fields of the error in a response, undefined where there are none. */
export async function errorOf(
  response: Response,
  ...names: readonly string[]
): Promise<readonly unknown[]> {
  const error = own(await response.json().catch(() => undefined), "error");
  return names.map((name) => own(error, name));
}

async function* batches(body: ReadableStream<Uint8Array>): AsyncGenerator<readonly Arrival[]> {
  const decoder = new AnswerDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(lost);
      if (done) return;
      yield decoder.decode(value);
    }
  } finally {
    // Bytes after [DONE] are ignored.
    reader.cancel().catch(() => {});
  }
}

function lost(): never {
  throw new ConnectionLost();
}
