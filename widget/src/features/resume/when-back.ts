/** Waits for a sign that a failed request may succeed now. */

/** Calls `act` once: when the network or the visitor is back. */
export function whenBack(act: () => void): void {
  const gone = new AbortController();
  const back = (): void => {
    if (document.hidden) return;
    gone.abort();
    act();
  };
  addEventListener("online", back, gone);
  document.addEventListener("visibilitychange", back, gone);
}
