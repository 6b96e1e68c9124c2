/**
 * The transport to the service: a question is sent alone, with the session of its chat and the token
 * of the current user. The first question asks for a stored chat, whose session comes with the answer.
 * Without it, the service stores no chats, and later questions carry the whole conversation.
 */

import { own } from "../own.ts";
import type { Owner } from "../owner.ts";
import type { Store } from "../store.ts";
import type { Rating, Turn } from "../turn.ts";
import { outgoing } from "./history.ts";
import { type Ask, connected, endpoint, errorOf, plainAsk, post, replyOf } from "./http.ts";
import { type Session, sessionOf } from "./session.ts";
import { StatelessTransport } from "./stateless.ts";
import type { KeptChat, Reply, Transport } from "./transport.ts";

const LONGEST_WAIT_MS = 3_000;
/** The pause before a rating that was lost is sent again. */
const RATE_AGAIN_MS = 15_000;

export interface Dependencies {
  readonly apiUrl: URL;
  readonly store: Store;
  readonly owner: Owner;
  /** The tag of the widget's language. */
  readonly lang: string;
  /** Called with the stored chat; undefined when the service no longer stores it. */
  changed(chat: KeptChat | undefined): void;
  /** Called after the service answered that the chat does not exist. */
  lost(): void;
  /**
   * Returns the function that sends the question of `turn` with what the site or a feature adds, such as
   * the result of a bot check. Undefined if nothing is added.
   */
  asking?(turn: Turn): Promise<Ask | undefined> | undefined;
}

export class KeptTransport implements Transport, KeptChat {
  readonly #around: Dependencies;
  readonly #stateless: Transport;
  #ask = plainAsk;
  #session: Session | undefined;
  /** The ratings that the service has not confirmed, by message id. */
  readonly #unsent = new Map<string, Rating>();
  /** The service cannot store this chat now: later questions are sent as `messages`. */
  #isFull = false;

  constructor(around: Dependencies) {
    this.#around = around;
    const { apiUrl, lang } = around;
    this.#stateless = new StatelessTransport(apiUrl, (url, init) => this.#ask(url, init), lang);
    this.restore();
    around.owner.onCleared(() => {
      this.#isFull = false;
      this.#session = undefined;
      this.#unsent.clear();
      around.changed(undefined);
    });
  }

  /** Takes over the stored session, and returns its chat. */
  restore(): KeptChat | undefined {
    this.#session = sessionOf(this.#around.store.read().session);
    return this.chat;
  }

  ready(turn: Turn): Promise<void> | undefined {
    return this.#around.asking?.(turn)?.then((ask = plainAsk) => {
      this.#ask = ask;
    });
  }

  /** The stored chat of this browser, if there is one. */
  get chat(): KeptChat | undefined {
    return this.#session && this;
  }

  async send(turns: readonly Turn[], signal: AbortSignal): Promise<Reply> {
    const turn = turns.at(-1);
    const isStored = this.#session || !turns.some(({ id, answer }) => id !== turn?.id && answer);
    if (!isStored || this.#isFull || !turn) return this.#stateless.send(turns, signal);
    const ask = this.#session
      ? { message: turn.question.toWellFormed(), again: turn.first }
      : { messages: outgoing([turn]), store: true };
    const response = await this.#post({ ...ask, client_message_id: turn.id }, signal);
    const { status, headers } = response;
    const [id, token] = [headers.get("X-Session-Id"), headers.get("X-Session-Token")];
    if (id && token) this.#hold({ id, token });
    if (status === 404 && this.#session) {
      this.#lose();
      return this.send([turn], signal);
    }
    const [code, param] = response.ok ? [] : await errorOf(response.clone(), "code", "param");
    // `store_full` or `store_failed`
    if (status === 503 && /^store_/.test(`${code}`)) {
      this.#isFull = true;
      return this.#stateless.send(turns, signal);
    }
    if (status === 400 && param === "message") {
      const reply = await this.#stateless.send(turns, signal);
      // The message itself is valid: the service no longer stores chats.
      if (reply.ok) this.#hold(undefined);
      return reply;
    }
    const reply = await replyOf(response);
    // An earlier attempt of this question is still being answered: retry as after a 429.
    return status === 409 && !reply.ok ? { ...reply, code: "rate_limit_exceeded" } : reply;
  }

  #post(body: object, signal: AbortSignal): Promise<Response> {
    const { apiUrl, lang } = this.#around;
    const all = { ...body, session_id: this.#session?.id, sources: true, steps: true };
    return connected(this.#request(apiUrl, { ...post(all, lang), signal }));
  }

  /** Goes on with the newest chat that the signed-in user has with this preset, if there is one. */
  async find(preset: unknown): Promise<void> {
    const url = new URL("sessions?limit=1", this.#around.apiUrl);
    url.searchParams.set("config_id", `${preset || "default"}`);
    const signal = AbortSignal.timeout(LONGEST_WAIT_MS);
    const response = await this.#request(url, { signal }).catch(() => undefined);
    if (!response?.ok) return;
    const body: unknown = await response.json().catch(() => undefined);
    const newest = sessionOf(own(own(body, "sessions"), "0"));
    if (newest) this.#hold(newest);
  }

  /** Sends only the id of the message, because the user may have changed meanwhile. */
  cancel(messageId: string): void {
    this.#stateless.cancel(messageId);
  }

  /** Sends the visitor's rating of an answer, again and again while there is no reply of the service. */
  rate(messageId: string, rating: Rating): void {
    this.#unsent.set(messageId, rating);
    void this.#sendRating(messageId);
  }

  async #sendRating(id: string): Promise<void> {
    const rating = this.#unsent.get(id);
    if (!rating) return;
    const body = { client_message_id: id, rating, session_id: this.#session?.id };
    const signal = AbortSignal.timeout(LONGEST_WAIT_MS);
    const request = { ...post(body), keepalive: true, signal };
    const url = endpoint(this.#around.apiUrl, "feedback");
    const response = await this.#request(url, request).catch(() => undefined);
    // Neither an error of a proxy nor the page of a portal is a reply.
    if (!/204|4../.test(`${response?.status}`)) {
      setTimeout(() => this.#sendRating(id), RATE_AGAIN_MS);
    } else if (this.#unsent.get(id) === rating) this.#unsent.delete(id);
  }

  forget(): void {
    this.#isFull = false;
    if (this.#session) this.#hold(undefined);
  }

  async request(
    rest: string,
    init: RequestInit = {},
    ask = this.#ask,
  ): Promise<Response | undefined> {
    if (!this.#session) return undefined;
    const url = new URL(`sessions/${this.#session.id}${rest}`, this.#around.apiUrl);
    const signal = AbortSignal.timeout(LONGEST_WAIT_MS);
    const response = await this.#request(url, { signal, ...init }, ask).catch(() => undefined);
    if (response?.status === 404) this.#lose();
    return response;
  }

  #hold(session: Session | undefined): void {
    this.#session = session;
    this.#around.store.write({ session });
    this.#around.changed(this.chat);
  }

  #lose(): void {
    this.#hold(undefined);
    this.#around.store.write({ turns: [] });
    this.#around.lost();
  }

  /**
   * Sends a request with the user's token. A change of the user aborts the request.
   */
  async #request(url: URL, init: RequestInit, ask = this.#ask): Promise<Response> {
    const { owner } = this.#around;
    const { signal } = owner;
    const user = owner.token();
    const response = await ask(url, {
      credentials: "omit",
      cache: "no-store",
      ...init,
      signal: init.signal ? AbortSignal.any([init.signal, signal]) : signal,
      headers: {
        ...init.headers,
        ...(this.#session && { "X-Session-Token": this.#session.token }),
        ...(user && { "X-User-Token": user }),
      },
    });
    owner.check();
    signal.throwIfAborted();
    return response;
  }
}
