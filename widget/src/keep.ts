/** What a chat needs that the service keeps; a file of its own, for the few services that do. */

import type { Turn } from "./conversation.ts";
import { menu } from "./keeping-menu.ts";
import { merged, type Session, sessionOf, turnsOf } from "./kept.ts";
import { own } from "./own.ts";
import type { Keep, Send } from "./sender.ts";
import { settingsOf, textOf } from "./settings.ts";

const LONGEST_WAIT_MS = 3_000;

const keep: Keep = async (host, apiUrl, store, script) => {
  let session = sessionOf(store.read().session);
  let isOn = true;
  const hold = (now: Session | undefined): void => {
    session = now;
    store.write({ session: now });
    show();
  };
  const request: Send = async (url, init) => {
    const user = userToken(host, script);
    return fetch(url, {
      credentials: "omit",
      cache: "no-store",
      ...init,
      headers: {
        ...init.headers,
        ...(session && { "X-Session-Token": session.token }),
        ...(user && { "X-User-Token": user }),
      },
    });
  };
  const ofSession = async (rest: string, init: RequestInit = {}): Promise<Response | undefined> =>
    session &&
    request(new URL(`sessions/${session.id}${rest}`, apiUrl), {
      signal: AbortSignal.timeout(LONGEST_WAIT_MS),
      ...init,
    }).catch(() => undefined);
  const show = menu(host, () => isOn && session !== undefined, {
    async take() {
      const response = await ofSession("/export?format=md");
      return response?.ok ? response.blob() : undefined;
    },
    async erase() {
      const status = (await ofSession("", { method: "DELETE" }))?.status;
      return status === 204 || status === 404;
    },
    forget: () => hold(undefined),
  });
  /** The same question, as a service that keeps chats wants it. */
  const ask = async (url: URL, init: RequestInit, body: object): Promise<Response> => {
    const messages = own(body, "messages") as { content: string }[];
    const one = {
      message: messages.at(-1)?.content,
      client_message_id: own(body, "client_message_id"),
      session_id: session?.id,
    };
    const response = await request(url, { ...init, body: JSON.stringify(one) });
    const { status, headers } = response;
    const [id, token] = ["Id", "Token"].map((name) => headers.get(`X-Session-${name}`));
    if (id && token) hold({ id, token });
    if (status === 404 && session) {
      // It is no longer kept: what the visitor wrote begins another.
      hold(undefined);
      return ask(url, init, body);
    }
    if (status === 400 && (await paramOf(response.clone())) === "message") {
      isOn = false;
      hold(undefined);
      return fetch(url, init);
    }
    // The chat knows how to wait where many are asking; here its own question is in the way.
    return status === 409 ? new Response(null, { status: 429, headers }) : response;
  };
  const response = await ofSession("/messages?limit=100");
  if (response?.status === 404) hold(undefined);
  if (response?.ok) {
    const turns = turnsOf(await response.json().catch(() => undefined));
    store.write({ turns: merged(turns, store.read().turns as readonly Turn[]) });
  }
  return async (url, init) => {
    const body: object = JSON.parse(init.body as string);
    if (isOn && "messages" in body) return ask(url, init, body);
    if (!("rating" in body)) return request(url, init);
    return request(url, { ...init, body: JSON.stringify({ ...body, session_id: session?.id }) });
  };
};

/** By the word of the site; looked for each time, because such tokens soon give way to new ones. */
function userToken(host: HTMLElement, script: HTMLScriptElement | null): string | undefined {
  const settings = settingsOf(host.ownerDocument.defaultView?.ChatWidgetConfig, script);
  const said = settings.userToken;
  return textOf(typeof said === "function" ? said() : said);
}

async function paramOf(response: Response): Promise<unknown> {
  return own(own(await response.json().catch(() => undefined), "error"), "param");
}

export default keep;
