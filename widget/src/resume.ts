/**
 * Takes up the answer of a stored chat after a reload or a lost connection, in a file of its own: most
 * answers arrive at once. The service goes on with the answer meanwhile, and never asks the model again.
 */

import { QUIET_MS } from "./quiet.ts";
import { post, replyOf } from "./transport/http.ts";
import type { Arrival } from "./transport/sse.ts";
import type { Transport } from "./transport/transport.ts";
import type { Turn } from "./turn.ts";
import type { LostLine } from "./view/lost-line.ts";
import type { MenuActs } from "./view/menu.ts";

/** The pause after which a page asks again for an answer that another process is making. */
const POLL_MS = 3_500;
/** A page that is being left loses its connection, too, and shall not open another one. */
const LEAVING_MS = 300;
/** Requests without a response, one after the other, before the visitor sees the error. */
const MAX_FAILURES = 3;

const LOST: Arrival = { kind: "error", code: "disconnected" };

/** `isShown` returns false when the widget was removed from the page. `line` is shown if it takes long. */
export default function resume(chat: MenuActs, isShown: () => boolean, line: LostLine) {
  /** The answer that was taken up last, and how much of it has arrived. */
  let known = { id: "", length: 0 };
  /** Whether the last attempt brought no more of the answer. */
  let isFruitless = false;

  /** The response of the service, as soon as it has the answer or makes it; undefined: it does not. */
  async function* responses(turn: Turn, signal: AbortSignal) {
    const ask = post({ client_message_id: turn.id, again: turn.first, sources: "text" });
    let failures = 0;
    for (;;) {
      // Shows the conversation that the attempt goes on.
      yield undefined;
      const response = await chat.request("/answer", { ...ask, signal });
      if (response?.ok) yield response;
      if (response ? ![409, 429].includes(response.status) : ++failures === MAX_FAILURES) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  async function* batches(
    turn: Turn,
    signal: AbortSignal,
    isRestored: boolean,
  ): AsyncGenerator<readonly Arrival[]> {
    if (known.id !== turn.id) known = { id: turn.id, length: 0 };
    let length = 0;
    // After a reload nothing was lost: the answer has only not arrived yet.
    const late = isRestored ? undefined : setTimeout(line.show, QUIET_MS - LEAVING_MS);
    const withdraw = (): void => {
      clearTimeout(late);
      line.remove();
    };
    try {
      for await (const response of responses(turn, signal)) {
        const reply = response && (await replyOf(response));
        if (!reply?.ok) {
          yield [];
          continue;
        }
        for await (const arrivals of reply.batches) {
          for (const one of arrivals) if (one.kind === "text") length += one.text.length;
          if (length > 0) withdraw();
          yield arrivals;
        }
        return;
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

  return {
    /** Takes up the last answer. Returns false after an attempt that brought no more of it. */
    begin: (isRestored: boolean): boolean => {
      const wasFruitless = isFruitless;
      isFruitless = false;
      if (wasFruitless) return false;
      const send: Transport["send"] = async (turns, signal) => ({
        ok: true,
        batches: batches(turns.at(-1) as Turn, signal, isRestored),
      });
      setTimeout(() => isShown() && chat.resume({ send }), isRestored ? 0 : LEAVING_MS);
      return true;
    },
  };
}

export type ResumeModule = { readonly default: typeof resume };

export type Resume = ReturnType<typeof resume>;
