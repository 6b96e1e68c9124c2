/** Sends the pictures of a question. */

import type { Ask } from "../../open/transport/transport.ts";
import { dataUrl } from "./encode.ts";
import type { Picture } from "./picture.ts";

/** Sends by `ask`, with `pictures` in messages. Those that cannot be loaded are left out. */
export async function adding(ask: Ask, apiUrl: URL, pictures: readonly Picture[]): Promise<Ask> {
  const loaded = await Promise.allSettled(pictures.map(async (one) => dataUrl(await one.load())));
  const urls = loaded.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  // Without the field, the service keeps the pictures that it has.
  if (urls.length === 0 && pictures.length > 0) return ask;
  // Old libraries add toJSON to every array, which would turn the array into a string.
  const images = JSON.stringify(Object.assign(urls, { toJSON: undefined }));
  return (url, init) => {
    if (`${url}` !== `${apiUrl}` || init.method !== "POST") return ask(url, init);
    return ask(url, { ...init, body: `${`${init.body}`.slice(0, -1)},"images":${images}}` });
  };
}
