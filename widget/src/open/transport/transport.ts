/** The port to the service: one request at a time, with or without stored chats. */

import type { Code, Refusal, Turn } from "../turn.ts";
import type { Arrival } from "./sse.ts";

export type Ask = (url: URL, init: RequestInit) => Promise<Response>;

/** No connection, or a broken or aborted connection. */
export class ConnectionLost extends Error {}

type Batches = AsyncIterable<readonly Arrival[]> | Iterable<readonly Arrival[]>;

export type Reply =
  /** The events of each piece of the stream; an empty batch only shows that the connection works. */
  | { readonly ok: true; readonly batches: Batches }
  | {
      readonly ok: false;
      readonly code: Code | Refusal;
      readonly retryAfterMs?: number | undefined;
    };

export interface Transport {
  /** Resolves when `turn` may be sent, for example after a bot check. Undefined for at once. */
  ready?(turn: Turn): Promise<void> | undefined;
  /**
   * Sends the last of `turns`, with a second request if the service has lost the chat. Throws
   * ConnectionLost if there is no reply, also while its batches are read.
   */
  send(turns: readonly Turn[], signal: AbortSignal): Promise<Reply>;
  /** The chat that the service stores. Answers go on when the connection ends. */
  readonly chat?: KeptChat | undefined;
  /** Cancels an answer at the service. The request outlives the page; its result is ignored. */
  cancel(messageId: string): void;
}

/** A chat that the service stores for the visitor. */
export interface KeptChat {
  /**
   * Sends a request to the path `rest` below the chat's address. Undefined if there is no response.
   * After a 404 the chat is cleared from the page and from storage.
   */
  request(rest: string, init?: RequestInit, ask?: Ask): Promise<Response | undefined>;
  /** Makes the next question start a new chat; the service keeps the present chat. */
  forget(): void;
}
