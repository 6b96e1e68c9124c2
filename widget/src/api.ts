/** The only place that makes requests. */

import type { Rating } from "./conversation.ts";
import type { Message } from "./history.ts";

export interface Ask {
  readonly messages: readonly Message[];
  /** The same for every try of one message, so that the service can tell a retry. */
  readonly client_message_id: string;
}

export type Reply =
  | { readonly ok: true; readonly chunks: AsyncIterable<Uint8Array> }
  | { readonly ok: false; readonly status: number; readonly retryAfter: string | null };

export interface Api {
  /** One request. Throws ConnectionLost when there is no answer, now or while reading it. */
  ask(ask: Ask, signal: AbortSignal): Promise<Reply>;
  /** Tells the service that nobody waits any more; outlives the page, and its result is not known. */
  cancel(messageId: string): void;
  /** Tells what the visitor thinks of an answer; nobody learns whether that arrived. */
  rate(messageId: string, rating: Rating): void;
}

/** No connection, a cut one, or an aborted one. */
export class ConnectionLost extends Error {}

const JSON_TYPE = { "Content-Type": "application/json" };

export function httpApi(url: URL): Api {
  const tell = (name: string, body: object): void => {
    const to = new URL(url);
    to.pathname = `${url.pathname.replace(/\/$/, "")}/${name}`;
    fetch(to, {
      method: "POST",
      headers: JSON_TYPE,
      body: JSON.stringify(body),
      credentials: "omit",
      keepalive: true,
    }).catch(ignore);
  };
  return {
    async ask(ask, signal) {
      const response = await orLost(
        fetch(url, {
          method: "POST",
          headers: { ...JSON_TYPE, Accept: "text/event-stream" },
          body: JSON.stringify(ask),
          credentials: "omit",
          cache: "no-store",
          signal,
        }),
      );
      const type = response.headers.get("Content-Type") ?? "";
      if (
        response.status !== 200 ||
        response.body === null ||
        !/^text\/event-stream\b/.test(type)
      ) {
        await response.body?.cancel().catch(ignore);
        // A 200 that is no stream comes from something in between: a captive portal, a proxy.
        const status = response.status === 200 ? 502 : response.status;
        return { ok: false, status, retryAfter: response.headers.get("Retry-After") };
      }
      return { ok: true, chunks: read(response.body) };
    },
    cancel: (messageId) => tell("cancel", { client_message_id: messageId }),
    rate: (messageId, rating) => tell("feedback", { client_message_id: messageId, rating }),
  };
}

async function* read(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await orLost(reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    // What comes after [DONE] is not waited for.
    reader.cancel().catch(ignore);
  }
}

async function orLost<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw new ConnectionLost("no connection", { cause: error });
  }
}

/** Nobody is there who could do anything about it. */
function ignore(): void {}
