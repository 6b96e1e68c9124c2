/** The request of the contact form, with the stored chat or alone. */

import type { KeptChat } from "./transport.ts";

/** On AWS the service tries to deliver the request before it answers. */
const LONGEST_WAIT_MS = 15_000;

type Request = KeptChat["request"];

/** Sends to the service whose chat is at `apiUrl`, without a stored chat. */
export function contactRequest(apiUrl: URL, init?: RequestInit): Promise<Response | undefined> {
  return fetch(new URL("contact", apiUrl), {
    credentials: "omit",
    cache: "no-store",
    signal: AbortSignal.timeout(LONGEST_WAIT_MS),
    ...init,
  }).catch(() => undefined);
}

/** Sends with the stored chat of `chatOf`, or alone if the service does not store it any more. */
export function withChat(
  chatOf: () => Pick<KeptChat, "request"> | undefined,
  apiUrl: URL,
): Request {
  return async (rest, init) => {
    const signal = AbortSignal.timeout(LONGEST_WAIT_MS);
    const response = await chatOf()?.request(rest, { signal, ...init });
    return response && response.status !== 404 ? response : contactRequest(apiUrl, init);
  };
}
