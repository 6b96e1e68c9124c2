/** Updates the browser's copy of a stored chat from the service. */

import type { Owner } from "../owner.ts";
import type { Store } from "../store.ts";
import { merged, turnsOf } from "./merge.ts";
import type { KeptChat } from "./transport.ts";

export async function restore(chat: KeptChat, store: Store, owner: Owner): Promise<void> {
  const { signal } = owner;
  const response = await chat.request("/messages?limit=100");
  if (!response?.ok) return;
  const turns = turnsOf(await response.json().catch(() => undefined));
  owner.check();
  if (!signal.aborted) store.write({ turns: merged(turns, store.read().turns) });
}
