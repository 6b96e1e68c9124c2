/**
 * The user whom a token of the site names. The token is a JSON Web Token (RFC 7519). The widget
 * only decodes the token, to tell users apart; the service verifies its signature.
 */

import { own } from "./own.ts";

export interface Identity {
  /** The token's `sub`; undefined without a token, when no user is signed in. */
  readonly user: string | undefined;
  /** Milliseconds since 1970, by the visitor's clock. */
  readonly expiresAt: number;
}

export const NOBODY: Identity = { user: undefined, expiresAt: Number.POSITIVE_INFINITY };

/** A token that cannot be decoded counts as expired, and as a user of its own. */
export function identityOf(token: string | undefined): Identity {
  if (token === undefined) return NOBODY;
  const claims = claimsOf(token);
  const [user, seconds] = [own(claims, "sub"), own(claims, "exp")];
  return typeof user === "string" && typeof seconds === "number"
    ? { user, expiresAt: seconds * 1_000 }
    : { user: token, expiresAt: 0 };
}

function claimsOf(token: string): unknown {
  try {
    const [, payload = ""] = token.split(".");
    const binary = atob(payload.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
