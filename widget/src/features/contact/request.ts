/** The request of the contact form, with the stored chat or alone. */

import { type Ask, plainAsk } from "../../open/transport/http.ts";
import type { KeptChat } from "../../open/transport/transport.ts";

/** On AWS the service tries to deliver the request before it answers. */
const LONGEST_WAIT_MS = 15_000;

type Request = KeptChat["request"];

/** Sends to the service whose chat is at `apiUrl`, without a stored chat. */
export function contactRequest(
  apiUrl: URL,
  init?: RequestInit,
  ask = plainAsk,
): Promise<Response | undefined> {
  return ask(new URL("contact", apiUrl), {
    credentials: "omit",
    cache: "no-store",
    signal: AbortSignal.timeout(LONGEST_WAIT_MS),
    ...init,
  }).catch(() => undefined);
}

/**
 * Sends with the stored chat of `chatOf`, or alone if the service does not store it any more. `guard`
 * runs the bot check before a form is sent.
 */
export function withChat(
  chatOf: () => Pick<KeptChat, "request"> | undefined,
  apiUrl: URL,
  guard: () => Promise<Ask>,
): Request {
  const send: Request = async (rest, init) => {
    const ask = init ? await guard() : plainAsk;
    const signal = AbortSignal.timeout(LONGEST_WAIT_MS);
    const response = await chatOf()?.request(rest, { signal, ...init }, ask);
    if (response && response.status !== 404) return response;
    // The earlier request has used up the token of the bot check.
    return contactRequest(apiUrl, init, init && response ? await guard() : ask);
  };
  return async (rest, init) => {
    const response = await send(rest, init);
    // The pass of the bot check had expired.
    return init && response?.status === 504 ? send(rest, init) : response;
  };
}
