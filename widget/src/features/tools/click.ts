/** Sends the visitor's click on a card, in place of the message that shows the click. */

import type { Dictionary } from "../../dictionaries.ts";
import { errorOf } from "../../open/transport/http.ts";
import type { Ask } from "../../open/transport/transport.ts";
import type { Turn } from "../../open/turn.ts";
import { isYes } from "./events.ts";

/** Sends by `ask`, and the message `turn` as a click. The reason of a refusal for good is its answer. */
export function clicking(turn: Turn, apiUrl: URL, ask: Ask, texts: Dictionary): Ask {
  return async (url, init) => {
    // Only messages have this address.
    if (url.href !== apiUrl.href) return ask(url, init);
    const { client_message_id, message, messages, store, ...body } = JSON.parse(`${init.body}`);
    if (client_message_id !== turn.id) return ask(url, init);
    const approval = { id: turn.id, approved: isYes(turn) };
    const response = await ask(url, { ...init, body: JSON.stringify({ ...body, approval }) });
    if (response.ok) return response;
    // Only `approval_gone` has a reason.
    const [reason, sentence] = await errorOf(response.clone(), "reason", "message");
    if (reason) return gone(texts[reason as "gone"] ?? texts.gone ?? `${sentence}`);
    const { body: said, headers, status } = response;
    // The chat would send a message again, in a new chat or alone. A click is sent once.
    const once = { 404: 400, 503: 502 }[status];
    return once ? new Response(said, { headers, status: once }) : response;
  };
}

/** An answer with the reason in the visitor's language, and the event that the card is gone. */
function gone(content: string): Response {
  const choices = [{ delta: { content }, finish_reason: "stop" }];
  const event = JSON.stringify({ object: "kefu.gone", gone: true, choices });
  const headers = { "Content-Type": "text/event-stream" };
  return new Response(`data: ${event}\n\ndata: [DONE]\n\n`, { headers });
}
