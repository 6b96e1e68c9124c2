/** The pictures of a question that was asked on an earlier page. */

import type { Kit } from "../../answer/feature.ts";
import { own } from "../../open/own.ts";
import { plainAsk } from "../../open/transport/http.ts";
import type { Ask } from "../../open/transport/transport.ts";
import { once, type Picture } from "./picture.ts";

const LONGEST_WAIT_MS = 30_000;

/**
 * `images`: as the service names them. Those without an id are nowhere any more. `trouble`: what the
 * visitor reads then.
 */
export function storedPictures(
  images: readonly unknown[] | undefined,
  chat: Kit["chat"],
  trouble: string,
): readonly Picture[] {
  return (images ?? []).map((image) => {
    const [id, width, height] = ["id", "width", "height"].map((name) => own(image, name));
    const size = Number(width) > 0 &&
      Number(height) > 0 && { width: Number(width), height: Number(height) };
    return { name: "", trouble, load: once(() => fetched(chat, id)), ...size };
  });
}

async function fetched(chat: Kit["chat"], id: unknown): Promise<Blob> {
  if (!/^[\w-]+$/.test(`${id ?? ""}`)) throw new Error("The service does not have the picture");
  const init = { cache: "default", signal: AbortSignal.timeout(LONGEST_WAIT_MS) } as const;
  const response = await chat()?.request(`/images/${id}`, init, askForPicture);
  if (!response?.ok) throw new Error("The picture did not come");
  return response.blob();
}

/** A picture may be gone without its chat, which a 404 would clear from the page. */
const askForPicture: Ask = async (url, init) => {
  const response = await plainAsk(url, init);
  return response.status === 404 ? new Response(null, { status: 410 }) : response;
};
