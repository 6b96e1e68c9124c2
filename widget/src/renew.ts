/** Replaces a file of an earlier release in the browser's cache. */

let isRenewed = false;

/**
 * Fetches the loader, once. A part of an earlier release is no longer served: the page works without it,
 * and the next page shall not run the same loader again.
 */
export function renew(loader: string): void {
  if (isRenewed) return;
  isRenewed = true;
  // As browsers fetch a script: with cookies, and the response is not read.
  fetch(loader, { cache: "reload", mode: "no-cors", credentials: "include" }).catch(() => {});
}
