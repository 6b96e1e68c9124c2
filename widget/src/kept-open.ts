/** What the loader reads of the stored conversation; store.ts reads and writes the rest. */

/** The key of a record in the storage, before the service's address. The number is the format's. */
export const KEY = "kefu-chat:1:";

/**
 * Whether the chat has something to show on this page: the panel was left open, an answer has not
 * been read, or a person may have written. Throws if there is no storage.
 */
export function isKeptOpen(page: Window, apiUrl: string, persist: unknown): boolean {
  const area = page[persist === "local" ? "localStorage" : "sessionStorage"];
  return /"is(Open|Waiting)":true|"unread":[1-9]/.test(area[KEY + apiUrl]);
}
