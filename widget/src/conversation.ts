/**
 * One conversation: what was asked and answered, and the one request that may be under way.
 *
 * Facts (a byte, a status, a silence) become events of `machine.ts`; whatever a state forbids,
 * a second send for one, has no transition there and so no effect here.
 */

import { type Api, type Ask, ConnectionLost } from "./api.ts";
import { Deadline } from "./deadline.ts";
import { type Exchange, outgoing } from "./history.ts";
import { type Event, isBusy, type Limit, type State, step } from "./machine.ts";
import { codeOfStatus, nextTry, retryAfterMs, type Trouble } from "./retry.ts";
import { AnswerDecoder, type Arrival } from "./sse.ts";

export type Rating = "up" | "down" | "none";

/** As it should, where the visitor wanted, or otherwise. */
export type Ending = "whole" | "stopped" | Trouble;

export interface Turn extends Exchange {
  /** `client_message_id`: the same in every try of this message, another for another answer. */
  id: string;
  readonly question: string;
  answer: string;
  ending: "open" | Ending;
  /** What the visitor thinks of the answer, once they have said so. */
  rating?: Rating;
}

/** Why the next request has not gone out yet. */
export type Waiting = "offline" | "rate_limit_exceeded";

/** Who watches; told after the fact, in order. */
export interface Audience {
  asked(turn: Turn): void;
  /** The turn is asked once more; what is shown of its answer stays until another begins. */
  restarted(turn: Turn): void;
  /** `isFirst`: it begins the answer, in place of what was shown. */
  told(turn: Turn, text: string, isFirst: boolean): void;
  moved(state: State, turn: Turn, waiting: Waiting | undefined): void;
}

export interface Circumstances {
  readonly api: Api;
  readonly retries: number;
  readonly firstByteMs: number;
  readonly stallMs: number;
  readonly isOnline: () => boolean;
  /** A number in [0, 1). */
  readonly chance: () => number;
  readonly newId: () => string;
}

export class Conversation {
  readonly #around: Circumstances;
  readonly #audience: Audience;
  readonly #deadline = new Deadline((limit, slept) => this.#expired(limit, slept));
  readonly #turns: Turn[];
  #state: State;
  #request = new AbortController();
  #made = 0;
  #timeouts = 0;
  #waitMs = 0;
  /** Whether text of this answer has come; until then an earlier one stays. */
  #hasBegun = false;
  /** The finished answer that another was asked for instead of. */
  #former: Turn | undefined;

  /** `before`: the turns of an earlier page. None of them is asked again, unless by `retry`. */
  constructor(around: Circumstances, audience: Audience, before: readonly Turn[] = []) {
    this.#around = around;
    this.#audience = audience;
    this.#turns = [...before];
    this.#state = isFinished(before.at(-1)?.ending ?? "whole") ? "idle" : "disconnected";
  }

  get turns(): readonly Turn[] {
    return this.#turns;
  }

  get state(): State {
    return this.#state;
  }

  /** Whether text of the answer is coming in, not only signs of life. */
  get isAnswering(): boolean {
    return this.#state === "streaming" && this.#hasBegun;
  }

  /** Asks, unless there is nothing to ask or an answer is still under way. */
  send(text: string): boolean {
    const question = text.trim();
    if (question === "" || isBusy(this.#state)) return false;
    const turn: Turn = { id: this.#around.newId(), question, answer: "", ending: "open" };
    this.#turns.push(turn);
    this.#former = undefined;
    this.#audience.asked(turn);
    this.#begin();
    return true;
  }

  /** Asks the last question again, after it ended in trouble. */
  retry(): void {
    const turn = this.#turns.at(-1);
    if (!turn || (this.#state !== "failed" && this.#state !== "disconnected")) return;
    this.#restart(turn);
  }

  /** Asks for another answer to the last question, after one has ended well. */
  again(): void {
    const turn = this.#turns.at(-1);
    if (!turn || !isFinished(turn.ending)) return;
    this.#former = { ...turn };
    turn.id = this.#around.newId();
    this.#restart(turn);
  }

  /** The visitor has read enough. What arrived stays. */
  stop(): void {
    this.#quit("stop", "stopped");
  }

  /** Forgets everything; an answer under way is stopped first. */
  clear(): void {
    this.stop();
    this.#turns.length = 0;
    this.#state = "idle";
  }

  /** The page goes away, perhaps to come back from the browser's cache. */
  leave(): void {
    this.#quit("lost", "disconnected");
  }

  /** The network is back: what waited for it goes out. */
  online(): void {
    if (this.#state === "connecting") this.#deadline.start("back-off", this.#waitMs);
  }

  /** The tab is looked at again, or runs again: has it slept through a time limit? */
  wake(): void {
    if (this.#deadline.slept()) this.#end("lost", "disconnected");
  }

  #restart(turn: Turn): void {
    turn.ending = "open";
    this.#audience.restarted(turn);
    this.#begin();
  }

  #begin(): void {
    this.#hasBegun = false;
    this.#made = 0;
    this.#timeouts = 0;
    this.#waitMs = 0;
    this.#apply("send");
  }

  #apply(event: Event, waiting?: Waiting): void {
    const turn = this.#turns.at(-1);
    const next = step(this.#state, event);
    if (!next || !turn) return;
    this.#deadline.cancel();
    // Every byte enters `streaming` anew; whoever watches has nothing to do for it.
    const hasMoved = next.state !== this.#state;
    this.#state = next.state;
    if (event !== "byte" && event !== "open") this.#request.abort();
    const isOffline = next.state === "connecting" && !this.#around.isOnline();
    if (next.limit && !isOffline) this.#deadline.start(next.limit, this.#ms(next.limit));
    if (hasMoved) this.#audience.moved(next.state, turn, isOffline ? "offline" : waiting);
  }

  #ms(limit: Limit): number {
    if (limit === "back-off") return this.#waitMs;
    return limit === "first-byte" ? this.#around.firstByteMs : this.#around.stallMs;
  }

  #expired(limit: Limit, slept: boolean): void {
    const turn = this.#turns.at(-1);
    if (slept || limit === "stall") this.#end("lost", "disconnected");
    else if (limit === "first-byte") this.#failed("gateway_timeout");
    else if (turn) void this.#ask(turn);
  }

  async #ask(turn: Turn): Promise<void> {
    const request = new AbortController();
    this.#request = request;
    this.#made += 1;
    this.#apply("open");
    const ask: Ask = { messages: outgoing(this.#turns), client_message_id: turn.id };
    try {
      const reply = await this.#around.api.ask(ask, request.signal);
      if (request.signal.aborted) return;
      if (reply.ok) await this.#read(reply.chunks, turn, request.signal);
      else this.#failed(codeOfStatus(reply.status), retryAfterMs(reply.retryAfter, Date.now()));
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      if (request.signal.aborted) return;
      if (this.#state === "streaming") this.#end("lost", "disconnected");
      else this.#failed("unreachable");
    }
  }

  async #read(chunks: AsyncIterable<Uint8Array>, turn: Turn, signal: AbortSignal): Promise<void> {
    const decoder = new AnswerDecoder();
    let isComplete = false;
    for await (const bytes of chunks) {
      if (signal.aborted) return;
      // Bytes that waited while the tab slept say nothing about the line now.
      this.wake();
      if (signal.aborted) return;
      this.#apply("byte");
      for (const arrival of decoder.decode(bytes)) {
        if (arrival.kind === "finish") isComplete = true;
        else if (arrival.kind === "done" && isComplete) this.#end("done", "whole");
        else this.#take(arrival, turn);
        if (signal.aborted) return;
      }
    }
    if (!signal.aborted) this.#failed("cut");
  }

  #take(arrival: Arrival, turn: Turn): void {
    if (arrival.kind === "text") {
      const isFirst = !this.#hasBegun;
      if (isFirst) {
        this.#hasBegun = true;
        this.#former = undefined;
        turn.answer = "";
        delete turn.rating;
      }
      turn.answer += arrival.text;
      this.#audience.told(turn, arrival.text, isFirst);
    } else if (arrival.kind === "error") {
      this.#failed(arrival.code);
    } else {
      this.#failed("cut");
    }
  }

  /** This try has failed: another one, if nothing of it was shown and the rules allow it. */
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
    this.#waitMs = wait;
    this.#apply("again", trouble === "rate_limit_exceeded" ? trouble : undefined);
  }

  #quit(event: "stop" | "lost", ending: "stopped" | "disconnected"): void {
    const turn = this.#turns.at(-1);
    if (!turn || !isBusy(this.#state)) return;
    if (this.#made > 0) this.#around.api.cancel(turn.id);
    this.#end(event, ending);
  }

  #end(event: Event, ending: Turn["ending"]): void {
    const turn = this.#turns.at(-1);
    if (!turn || !isBusy(this.#state)) return;
    turn.ending = ending;
    // Stopped before there was anything to put in its place: the former answer holds.
    if (event !== "fail" && event !== "lost") Object.assign(turn, this.#former);
    this.#apply(event);
  }
}

/** Whether the answer ended as it should, or where the visitor wanted. */
export function isFinished(ending: Turn["ending"]): ending is "whole" | "stopped" {
  return ending === "whole" || ending === "stopped";
}
