/**
 * Attempts to get the rest of an answer. The service goes on with the answer of a stored chat meanwhile, and
 * never asks the model again.
 */

import type { ChatActs } from "../../open/chat-acts.ts";
import { LONGEST_WAIT_MS } from "../../open/retry.ts";
import { post, replyOf } from "../../open/transport/http.ts";
import type { Arrival } from "../../open/transport/sse.ts";
import type { Transport } from "../../open/transport/transport.ts";
import type { Turn } from "../../open/turn.ts";
import type { LostLine } from "./lost-line.ts";

/** Milliseconds before a lost connection is shown: most answers are resumed sooner. */
const QUIET_MS = 1_500;
/** The pause after which a page asks again for an answer that another process is making. */
const POLL_MS = 3_500;
/** A page that is being left loses its connection, too, and shall not open another connection. */
const LEAVING_MS = 300;
/** Failed requests before the visitor sees the error: about a minute, longer than a deploy takes. */
const MAX_FAILURES = 15;

const LOST: Arrival = { kind: "error", code: "disconnected" };

/** The result of an attempt to resume an answer. `later`: another attempt is useful. */
export type Begun = "begun" | "later" | "never";

/**
 * Returns the function that takes up the last answer, unless the last attempt brought no more of it.
 * `isShown` returns false when the widget was removed from the page. `line`: shown later.
 */
export function attemptsOf(
  chat: Pick<ChatActs, "request" | "resume">,
  isShown: () => boolean,
  line: LostLine,
): (isRestored: boolean) => Begun {
  /** The answer that was taken up last, and how much of it has arrived. */
  let known = { id: "", length: 0 };
  /** Whether the last attempt brought no more of the answer. */
  let isFruitless = false;
  /** Whether the service has reported that it cannot give the answer. */
  let isRefused = false;

  /**
   * The stream of the answer, as soon as the service has or makes the answer; else nothing.
   * Undefined stands for a failed attempt, after which another attempt follows.
   */
  async function* streams(turn: Turn, signal: AbortSignal) {
    const ask = post({ client_message_id: turn.id, again: turn.first, sources: true, steps: true });
    isRefused = false;
    for (let failures = 0; failures < MAX_FAILURES; ) {
      // Shows the conversation that the attempt goes on.
      yield undefined;
      if (!navigator.onLine) {
        await changeOfLine(POLL_MS);
        continue;
      }
      const response = await chat.request("/answer", { ...ask, signal });
      const reply = response && (await replyOf(response));
      if (reply?.ok) {
        yield reply.batches;
        return;
      }
      const isBusy = [408, 409, 429].includes(response?.status ?? 0);
      isRefused = !!response && !isBusy && isFinal(response);
      if (isRefused) return;
      if (!isBusy) failures += 1;
      const due = Date.now() + Math.min(reply?.retryAfterMs ?? 0, LONGEST_WAIT_MS);
      do {
        await changeOfLine(POLL_MS);
        yield undefined;
      } while (Date.now() < due);
    }
  }

  async function* batches(
    turn: Turn,
    signal: AbortSignal,
    isRestored: boolean,
  ): AsyncGenerator<readonly Arrival[]> {
    if (known.id !== turn.id) known = { id: turn.id, length: 0 };
    let length = 0;
    let isLate = false;
    // The header shows a missing network.
    const show = (): void => (navigator.onLine ? line.show() : line.remove());
    const beLate = (): void => {
      isLate = true;
      show();
    };
    // After a reload nothing was lost: the answer has only not arrived yet.
    const late = isRestored ? undefined : setTimeout(beLate, QUIET_MS - LEAVING_MS);
    const withdraw = (): void => {
      isLate = false;
      clearTimeout(late);
      line.remove();
    };
    try {
      for await (const stream of streams(turn, signal)) {
        if (isLate) show();
        for await (const arrivals of stream ?? [[]]) {
          for (const one of arrivals) if (one.kind === "text") length += one.text.length;
          if (length > 0) withdraw();
          yield arrivals;
        }
        if (stream) return;
      }
    } catch {
      // The connection is lost once more.
    } finally {
      withdraw();
      isFruitless = !signal.aborted && length <= known.length;
      known.length = Math.max(length, known.length);
    }
    yield [LOST];
  }

  return (isRestored) => {
    const wasFruitless = isFruitless;
    isFruitless = false;
    if (wasFruitless) return isRefused ? "never" : "later";
    const send: Transport["send"] = async (turns, signal) => ({
      ok: true,
      batches: batches(turns.at(-1) as Turn, signal, isRestored),
    });
    setTimeout(() => isShown() && chat.resume({ send }), isRestored ? 0 : LEAVING_MS);
    return "begun";
  };
}

/** Whether the service says that there is no answer, unlike a proxy's error or a portal's page. */
function isFinal({ status, headers }: Response): boolean {
  return headers.get("x-should-retry") === "false" || (status >= 400 && status < 500);
}

/** Resolves after `ms`, or when the network comes or goes. */
function changeOfLine(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      for (const type of ["online", "offline"]) removeEventListener(type, done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    for (const type of ["online", "offline"]) addEventListener(type, done);
  });
}
