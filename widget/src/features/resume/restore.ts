/** Updates the browser's copy of a stored chat from the service. */

import type { Restored } from "../../answer/feature.ts";
import type { Owner } from "../../open/owner.ts";
import type { Store } from "../../open/store.ts";
import type { KeptChat } from "../../open/transport/transport.ts";
import { merged, turnsOf } from "./merge.ts";

export async function restore(chat: KeptChat, store: Store, owner: Owner): Promise<Restored> {
  const { signal } = owner;
  const response = await chat.request("/messages?limit=100&sources=true&steps=true");
  const { isWaiting } = store.read();
  if (!response?.ok) return { isWaiting };
  const turns = turnsOf(await response.json().catch(() => undefined));
  owner.check();
  if (signal.aborted) return {};
  const known = store.read().turns;
  const lines = turns.filter(({ id, person }) => person && !known.some((turn) => turn.id === id));
  const { unread } = store.read();
  store.write({ turns: merged(turns, known), unread: unread + lines.length });
  const isPending = turns.at(-1)?.ending === "open";
  return { writer: lines.at(-1)?.person, isPending, isWaiting };
}
