/** The session of a stored chat, as it is kept in the browser. */

import { own } from "../own.ts";

/** The session's id, and the token that gives access to it. */
export interface Session {
  readonly id: string;
  readonly token: string;
}

export function sessionOf(value: unknown): Session | undefined {
  const [id, token] = [own(value, "id"), own(value, "token")];
  return typeof id === "string" && typeof token === "string" ? { id, token } : undefined;
}
