/** The HTTP functions that all transports share. */

import { codeOfStatus, retryAfterMs } from "../retry.ts";
import { AnswerDecoder, type Arrival } from "./sse.ts";
import { ConnectionLost, type Reply } from "./transport.ts";

/** The options of a request with `body` as JSON. */
export function post(body: object): RequestInit {
  return {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    credentials: "omit",
    cache: "no-store",
    body: JSON.stringify(body),
  };
}

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
  await body?.cancel().catch(() => {});
  return {
    ok: false,
    // A 200 without an event stream comes from a captive portal or a proxy.
    code: codeOfStatus(status === 200 ? 502 : status),
    retryAfterMs: retryAfterMs(headers.get("Retry-After"), Date.now()),
  };
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
