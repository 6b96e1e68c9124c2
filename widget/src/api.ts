/** The requests of a conversation. */

import type { Rating } from "./conversation.ts";
import type { Message } from "./history.ts";
import type { Send } from "./sender.ts";

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

const POST = {
  method: "POST",
  headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
  credentials: "omit",
  cache: "no-store",
} as const;

export function httpApi(url: URL, send: Send): Api {
  const tell = (name: string, body: object): void => {
    const to = new URL(url);
    to.pathname = `${url.pathname.replace(/\/$/, "")}/${name}`;
    send(to, { ...POST, body: JSON.stringify(body), keepalive: true }).catch(ignore);
  };
  return {
    async ask(ask, signal) {
      const response = await send(url, { ...POST, body: JSON.stringify(ask), signal }).catch(lost);
      const { status, headers, body } = response;
      if (
        status !== 200 ||
        !body ||
        !headers.get("Content-Type")?.startsWith("text/event-stream")
      ) {
        await body?.cancel().catch(ignore);
        // A 200 that is no stream comes from something in between: a captive portal, a proxy.
        return {
          ok: false,
          status: status === 200 ? 502 : status,
          retryAfter: headers.get("Retry-After"),
        };
      }
      return { ok: true, chunks: read(body) };
    },
    cancel: (messageId) => tell("cancel", { client_message_id: messageId }),
    rate: (messageId, rating) => tell("feedback", { client_message_id: messageId, rating }),
  };
}

async function* read(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(lost);
      if (done) return;
      yield value;
    }
  } finally {
    // What comes after [DONE] is not waited for.
    reader.cancel().catch(ignore);
  }
}

function lost(): never {
  throw new ConnectionLost();
}

/** Nobody is there who could do anything about it. */
function ignore(): void {}
