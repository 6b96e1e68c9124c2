/** Sends the visitor's click on a card. */

import { own } from "../../open/own.ts";
import type { Arrival } from "../../open/transport/sse.ts";
import type { Reply } from "../../open/transport/transport.ts";
import type { Turn } from "../../open/turn.ts";
import type { ChatPort } from "../feature.ts";
import { isYes } from "./events.ts";

/** The reply to the click; the sentence of a refusal is the answer. */
export async function sendClick(turn: Turn, { send, replyOf }: ChatPort) {
  const response = await send({ approval: { id: turn.id, approved: isYes(turn) } });
  const refusal = response.clone();
  const reply = await replyOf(response);
  if (reply.ok || response.status !== 409) return reply;
  const error = own(await refusal.json().catch(() => undefined), "error");
  // Another message is being answered, or an earlier attempt of this click: retry as after a 429.
  if (own(error, "code") !== "approval_gone")
    return { ...reply, code: "rate_limit_exceeded" } satisfies Reply;
  const arrivals: readonly Arrival[] = [
    { kind: "event", event: { gone: true } },
    { kind: "text", text: `${own(error, "message")}` },
    { kind: "finish", reason: "stop" },
    { kind: "done" },
  ];
  return { ok: true, batches: [arrivals] } satisfies Reply;
}
