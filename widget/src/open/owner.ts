/**
 * Assigns the chat to its owner: the user whom the site's token names, or an anonymous visitor.
 *
 * The page may change its token at any time, without an event. So the user's token is read again at
 * every event, and before anything is restored, stored or sent. If the user has changed, everything
 * that the widget shows and stores of the previous user is cleared before `check` returns.
 */

import { type Identity, identityOf, NOBODY } from "./identity.ts";
import type { Store } from "./store.ts";

/** The service accepts an expired token for this time, so that the page can renew it. */
export const RENEWAL_MS = 30_000;
/** Interval in which the token is read while a user is signed in. */
const POLL_MS = 1_000;

export type Reason =
  /** An anonymous visitor has signed in. */
  | "signed-in"
  /** The user has signed out, or another user has signed in. */
  | "other"
  /** The user's token has expired, and the page has not renewed it. */
  | "expired"
  /** Another tab has removed the stored chat, or stored the chat of another user. */
  | "replaced";

export class Owner {
  readonly #token: () => string | undefined;
  readonly #store: Store;
  readonly #listeners: ((reason: Reason) => void)[] = [];
  #identity = NOBODY;
  /** Whether the token is treated as valid: until `RENEWAL_MS` after its expiry. */
  #isValid = false;
  #expiredSince: number | undefined;
  #lifetime = new AbortController();

  /** `token` returns the page's current token, and may throw. A stored chat of another user is removed. */
  constructor(token: () => string | undefined, store: Store) {
    this.#token = token;
    this.#store = store;
    this.check();
  }

  /** The signal that is aborted when the chat is cleared. Requests for the chat use it. */
  get signal(): AbortSignal {
    return this.#lifetime.signal;
  }

  /** `listener` clears its part of the chat, before the new user can see or send that part. */
  onCleared(listener: (reason: Reason) => void): void {
    this.#listeners.push(listener);
  }

  /** Reads the token again. Returns false if the chat had to be cleared. */
  check(): boolean {
    const now = Date.now();
    const identity = this.#read();
    const isValid = now < identity.expiresAt;
    const isSame = identity.user === this.#identity.user;
    const hasExpired = isSame && this.#isValid && !isValid;
    if (hasExpired) {
      this.#expiredSince ??= now;
      if (now - this.#expiredSince < RENEWAL_MS) return true;
    }
    const wasNobody = this.#identity.user === undefined;
    const isRenewed = identity.expiresAt !== this.#identity.expiresAt;
    if (!isSame || isRenewed || isValid !== this.#isValid) this.#store.claim(identity, now);
    this.#identity = identity;
    this.#isValid = isValid;
    this.#expiredSince = undefined;
    if (isSame && !hasExpired) return true;
    this.#clear(isSame ? "expired" : wasNobody ? "signed-in" : "other");
    return false;
  }

  /** The token for a request. `check` is called first. Throws the errors of the page's function. */
  token(): string | undefined {
    this.check();
    return this.#token();
  }

  /** Checks at every event of the panel, until `gone` is aborted. The widget checks at the page's events. */
  watch(panel: Element, gone: AbortSignal): void {
    // In the capture phase: a new user's first key must not be added to the previous user's draft.
    for (const type of ["pointerdown", "keydown", "beforeinput"]) {
      panel.addEventListener(type, () => this.check(), { capture: true, signal: gone });
    }
    const stored = (event: StorageEvent): void => {
      if (this.check() && this.#store.isReplaced(event)) this.#clear("replaced");
    };
    addEventListener("storage", stored, { signal: gone });
    const timer = setInterval(() => this.#identity.user !== undefined && this.check(), POLL_MS);
    gone.addEventListener("abort", () => clearInterval(timer));
  }

  /** No token if the page's function throws, such as `() => app.user.token` after a sign-out. */
  #read(): Identity {
    try {
      return identityOf(this.#token());
    } catch {
      return NOBODY;
    }
  }

  #clear(reason: Reason): void {
    this.#lifetime.abort();
    this.#lifetime = new AbortController();
    for (const listener of this.#listeners) listener(reason);
  }
}
