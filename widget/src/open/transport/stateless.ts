/** The transport for services that store no chats: each question is sent with the conversation. */

import type { Turn } from "../turn.ts";
import { outgoing } from "./history.ts";
import { type Ask, connected, endpoint, plainAsk, post, replyOf } from "./http.ts";
import type { Transport } from "./transport.ts";

export class StatelessTransport implements Transport {
  readonly #url: URL;
  readonly #ask: Ask;
  readonly #lang: string | undefined;

  constructor(url: URL, ask = plainAsk, lang?: string) {
    this.#url = url;
    this.#ask = ask;
    this.#lang = lang;
  }

  async send(turns: readonly Turn[], signal: AbortSignal) {
    const id = turns.at(-1)?.id;
    const ask = { messages: outgoing(turns), client_message_id: id, sources: true, steps: true };
    return replyOf(await connected(this.#ask(this.#url, { ...post(ask, this.#lang), signal })));
  }

  cancel(messageId: string): void {
    const request = { ...post({ client_message_id: messageId }), keepalive: true };
    this.#ask(endpoint(this.#url, "cancel"), request).catch(() => {});
  }
}
