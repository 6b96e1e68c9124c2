/** The tools of the service for assistants, which search and read the site's pages: `POST /mcp`. */

import { own } from "../../open/own.ts";
import { plainAsk, post } from "../../open/transport/http.ts";
import type { OfferedTool } from "./model-context.ts";

/** Rejects if the service does not offer them. */
export async function pagesOf(apiUrl: URL): Promise<readonly OfferedTool[]> {
  const url = new URL("../mcp", apiUrl);
  const { tools } = (await asked(url, "tools/list")) as { tools: readonly OfferedTool[] };
  return tools.map((tool) => ({
    ...tool,
    run: (input, signal) =>
      asked(url, "tools/call", { name: tool.name, arguments: input }, signal).then(
        (found) => (own(found, "isError") ? said(textOf(found)) : own(found, "structuredContent")),
        (error: Error) => said(error.message),
      ),
  }));
}

/** A failure, as a result: a browser does not show the text of an error to its assistant. */
const said = (error: string) => ({ error });

/** The result of a request. Rejects with a sentence for the assistant, or for the console. */
async function asked(
  url: URL,
  method: string,
  params: object = {},
  signal?: AbortSignal,
): Promise<unknown> {
  const request = post({ jsonrpc: "2.0", id: 1, method, params });
  const response = await plainAsk(url, { ...request, signal: signal ?? null });
  const reply = await response.json().catch(() => undefined);
  const result = own(reply, "result");
  if (result) return result;
  throw new Error(`${own(own(reply, "error"), "message") ?? `${url}: ${response.status}`}`);
}

/** The sentence of a result about wrong arguments. */
function textOf(result: unknown): string {
  const [first] = own(result, "content") as readonly unknown[];
  return `${own(first, "text")}`;
}
