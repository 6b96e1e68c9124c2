/**
 * One conversation: its questions and answers, and at most one request at a time.
 *
 * Bytes, statuses and time-outs become events of `machine.ts`. An event that a state does not allow,
 * such as a second send, has no transition there, so it has no effect here.
 */

import { Deadline } from "./deadline.ts";
import { type Event, isBusy, type Limit, type State, step } from "./machine.ts";
import { nextTry } from "./retry.ts";
import { sourcesOf } from "./sources.ts";
import type { Arrival } from "./transport/sse.ts";
import { ConnectionLost, type Reply, type Transport } from "./transport/transport.ts";
import { isFinished, type Sources, type Trouble, type Turn, type Waiting } from "./turn.ts";

/** Observes a conversation. The methods are called after each change, in order. */
export interface Audience {
  asked(turn: Turn): void;
  /** The question was sent again. The old answer stays visible until the new answer begins. */
  restarted(turn: Turn): void;
  /** More text of the answer. `isFirst`: the text replaces the answer that was shown. */
  told(turn: Turn, text: string, isFirst: boolean): void;
  /** The answer has another event of the service. */
  changed(): void;
  moved(state: State, turn: Turn, waiting: Waiting | undefined): void;
}

export interface Circumstances {
  readonly transport: Transport;
  readonly retries: number;
  readonly firstByteMs: number;
  readonly stallMs: number;
  readonly isOnline: () => boolean;
  /** Returns a random number in [0, 1), for the jitter of retries. */
  readonly chance: () => number;
  readonly newId: () => string;
  /** Loads the files that take up an answer of a stored chat whose connection was lost. */
  readonly loadAnswer?: () => Promise<unknown>;
}

/** Answers the last of the turns: the service, or the part of the widget that takes an answer up. */
export type AnswerSource = Pick<Transport, "ready" | "send">;

/** With pictures, the limit for the first byte is so many times as long: 4 MB take a minute at 0.5 Mbit/s. */
const UPLOAD = 12;

export class Conversation {
  /** Milliseconds from the last failed attempt to the next attempt. */
  waitMs = 0;
  readonly #around: Circumstances;
  readonly #audience: Audience;
  readonly #deadline = new Deadline((limit, slept) => this.#expired(limit, slept));
  readonly #turns: Turn[] = [];
  #state: State = "idle";
  #request = new AbortController();
  #from: AnswerSource | undefined;
  #made = 0;
  #timeouts = 0;
  /** Whether text of the current answer has arrived; until then an earlier answer is shown. */
  #hasBegun = false;
  /** The pages that the service named for the current answer. */
  #sources: Sources | undefined;
  #isUnanswered = false;
  /** A copy of the finished answer that a new answer shall replace. */
  #former: Turn | undefined;

  constructor(around: Circumstances, audience: Audience) {
    this.#around = around;
    this.#audience = audience;
  }

  get turns(): readonly Turn[] {
    return this.#turns;
  }

  get state(): State {
    return this.#state;
  }

  /** Whether text of the answer is arriving; pings do not count. */
  get isAnswering(): boolean {
    return this.#state === "streaming" && this.#hasBegun;
  }

  /**
   * Sends a message, with `isEdit` in place of the last question. Does nothing for an empty text or during
   * an answer.
   */
  send(text: string, id = this.#around.newId(), isEdit = false): boolean {
    const question = text.trim();
    if (question === "" || isBusy(this.#state)) return false;
    const old = isEdit ? this.#turns.pop() : undefined;
    const turn: Turn = { id, at: Date.now(), question, answer: "", ending: "open" };
    if (old) turn.first = old.first ?? old.id;
    this.#turns.push(turn);
    this.#former = undefined;
    this.#audience.asked(turn);
    this.#begin(turn);
    return true;
  }

  /** Adds a finished turn before the last `later` turns. Returns false during an answer. */
  add(turn: Turn, later: number): boolean {
    if (isBusy(this.#state)) return false;
    this.#turns.splice(this.#turns.length - later, 0, turn);
    return true;
  }

  /** Requests the last answer again after it failed, from the service's transport or from `from`. */
  retry(from?: AnswerSource): void {
    const turn = this.#turns.at(-1);
    if (!turn || isFinished(turn.ending) || isBusy(this.#state)) return;
    this.#from = from;
    this.#restart(turn);
  }

  /** Requests a new answer to the last question after a complete answer. */
  again(): void {
    const turn = this.#turns.at(-1);
    if (!turn || !isFinished(turn.ending)) return;
    this.#former = { ...turn };
    turn.first ??= turn.id;
    turn.id = this.#around.newId();
    if (turn.events) turn.events = [];
    this.#restart(turn);
  }

  /** Stops the answer at the visitor's request. The text so far stays. */
  stop(): void {
    this.#cancel();
    this.#end("stop", "stopped");
  }

  /** Removes all turns. An answer in progress is cancelled; the audience gets no more calls for it. */
  clear(): void {
    this.#cancel();
    this.#deadline.cancel();
    this.#request.abort();
    this.#turns.length = 0;
    this.#state = "idle";
  }

  /** Adds the turns of other pages. Only `retry` sends a failed message again. */
  restore(turns: readonly Turn[]): void {
    this.#turns.push(...turns);
    if (!isFinished(turns.at(-1)?.ending ?? "whole")) this.#state = "disconnected";
  }

  /** Removes all turns but the last, whose answer is in progress. */
  forgetEarlier(): void {
    this.#turns.splice(0, this.#turns.length - 1);
  }

  /**
   * Ends the connection. Called when the page is left or put into the back/forward cache, and after a
   * stall. The service goes on with the answer of a stored chat. Any other answer is cancelled by a
   * request, because proxies may hide a closed connection.
   */
  leave(): void {
    if (!this.#around.transport.chat) this.#cancel();
    this.#end("lost", "disconnected");
  }

  /** Called when the network is back: sends the waiting request. */
  online(): void {
    if (this.#state === "connecting") this.#deadline.start("back-off", this.waitMs);
  }

  /** Called when the tab is visible or resumed: checks whether a time limit has passed meanwhile. */
  wake(): void {
    if (this.#deadline.slept()) this.leave();
  }

  /** Whether a request has to wait for the network. Taking an answer up waits by itself. */
  get #isOffline(): boolean {
    return !this.#from && !this.#around.isOnline();
  }

  #restart(turn: Turn): void {
    turn.ending = "open";
    this.#audience.restarted(turn);
    this.#begin(turn);
  }

  #begin(turn: Turn): void {
    this.#hasBegun = false;
    this.#sources = undefined;
    this.#isUnanswered = false;
    this.#made = 0;
    this.#timeouts = 0;
    this.waitMs = 0;
    this.#apply("send");
    // The first attempt does not wait: a timer of 0 ms would fire after the page is drawn.
    if (this.#state === "connecting" && !this.#isOffline) void this.#ask(turn);
  }

  #apply(event: Event, waiting?: Waiting): void {
    const turn = this.#turns.at(-1);
    const next = step(this.#state, event);
    if (!next || !turn) return;
    this.#deadline.cancel();
    // Every byte enters `streaming` again; observers need no call for that.
    const hasMoved = next.state !== this.#state;
    this.#state = next.state;
    if (event !== "byte" && event !== "open") this.#request.abort();
    const isOffline = next.state === "connecting" && this.#isOffline;
    if (next.limit && !isOffline) this.#deadline.start(next.limit, this.#ms(next.limit));
    if (hasMoved) this.#audience.moved(next.state, turn, isOffline ? "offline" : waiting);
  }

  #ms(limit: Limit): number {
    if (limit === "back-off") return this.waitMs;
    const { firstByteMs, stallMs } = this.#around;
    if (limit === "stall") return stallMs;
    return this.#turns.at(-1)?.images ? firstByteMs * UPLOAD : firstByteMs;
  }

  #expired(limit: Limit, slept: boolean): void {
    const turn = this.#turns.at(-1);
    if (slept || limit === "stall") this.leave();
    else if (limit === "first-byte") this.#failed("gateway_timeout");
    else if (turn) void this.#ask(turn);
  }

  async #ask(turn: Turn): Promise<void> {
    // The earlier request may still wait for the transport.
    this.#request.abort();
    this.#deadline.cancel();
    const request = new AbortController();
    this.#request = request;
    this.#made += 1;
    const { signal } = request;
    const transport = this.#from ?? this.#around.transport;
    const isReady = transport.ready?.(turn);
    if (isReady) await isReady;
    if (signal.aborted) return;
    this.#apply("open");
    try {
      const reply = await transport.send([...this.#turns], signal);
      if (!signal.aborted) await this.#read(reply, turn, signal);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      await this.#whenLost();
      if (signal.aborted) return;
      if (this.#state === "streaming") this.leave();
      else this.#failed("unreachable");
    }
  }

  async #read(reply: Reply, turn: Turn, signal: AbortSignal): Promise<void> {
    if (!reply.ok) {
      this.#failed(reply.code, reply.retryAfterMs);
      return;
    }
    let isComplete = false;
    for await (const arrivals of reply.batches) {
      if (signal.aborted) return;
      // Bytes that arrived while the tab slept do not show that the connection still works.
      this.wake();
      if (signal.aborted) return;
      this.#apply("byte");
      for (const arrival of arrivals) {
        if (arrival.kind === "finish") isComplete = true;
        else if (arrival.kind === "done" && isComplete) this.#end("done", "whole");
        else this.#take(arrival, turn);
        if (signal.aborted) return;
      }
    }
    await this.#whenLost();
    if (!signal.aborted) this.#failed("cut");
  }

  /** Waits for the files that take the answer up, so that the visitor reads of no loss before. */
  async #whenLost(): Promise<void> {
    if (this.#around.transport.chat) await this.#around.loadAnswer?.();
  }

  #take(arrival: Arrival, turn: Turn): void {
    if (arrival.kind === "text") {
      const isFirst = !this.#hasBegun;
      if (isFirst) {
        this.#hasBegun = true;
        this.#former = undefined;
        turn.answer = "";
        delete turn.rating;
        this.#note(turn);
      }
      turn.answer += arrival.text;
      this.#audience.told(turn, arrival.text, isFirst);
    } else if (arrival.kind === "event") {
      turn.events ??= [];
      turn.events.push(arrival.event);
      this.#audience.changed();
    } else if (arrival.kind === "sources") {
      // The earlier answer is shown until the new answer begins.
      this.#sources = arrival.sources;
    } else if (arrival.kind === "cited") {
      const { pages, links } = this.#sources ?? {};
      this.#sources = sourcesOf(pages, links, arrival.cited);
      this.#isUnanswered = !arrival.isAnswered;
      if (this.#hasBegun) this.#note(turn);
    } else this.#failed(arrival.kind === "error" ? arrival.code : "cut");
  }

  /** Adds the service's data about the answer, which may come before or after the text. */
  #note(turn: Turn): void {
    turn.sources = this.#sources;
    turn.isUnanswered = this.#isUnanswered;
  }

  /** Handles a failed attempt: retries if no text was shown and the rules allow it. */
  #failed(trouble: Trouble, retryAfter?: number): void {
    if (trouble === "gateway_timeout") this.#timeouts += 1;
    const attempts = {
      made: this.#made,
      timeouts: this.#timeouts,
      retries: this.#around.retries,
    };
    const wait = this.#hasBegun
      ? undefined
      : nextTry(trouble, retryAfter, attempts, this.#around.chance());
    if (wait === undefined) {
      this.#end("fail", trouble);
      return;
    }
    this.waitMs = wait;
    this.#apply("again", trouble === "gateway_timeout" ? undefined : "rate_limit_exceeded");
  }

  #cancel(): void {
    const turn = this.#turns.at(-1);
    if (turn && isBusy(this.#state) && this.#made > 0) this.#around.transport.cancel(turn.id);
  }

  #end(event: Event, ending: Turn["ending"]): void {
    const turn = this.#turns.at(-1);
    if (!turn || !isBusy(this.#state)) return;
    turn.ending = ending;
    this.#from = undefined;
    // The visitor stopped before the new answer began, so the earlier answer is restored.
    if (event !== "fail" && event !== "lost") Object.assign(turn, this.#former);
    this.#apply(event);
  }
}
