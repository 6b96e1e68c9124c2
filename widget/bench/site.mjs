/** The servers and the page of the benches. */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const BUILT = new URL("../../functions/kefu/web/static/widget/", import.meta.url);

const TYPES = { js: "text/javascript; charset=utf-8", json: "application/json" };

/** A server on a free port of this machine. `asked`: the addresses of the requests so far. */
export async function listening(answer) {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    return answer(request, response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { origin: `http://127.0.0.1:${server.address().port}`, asked, close };
}

/**
 * A server that has the files of a widget, by default of the built one; `answer` takes all other requests.
 * `isCompressed`: the files are sent with brotli.
 */
export function siteOf(answer, { widget = BUILT, isCompressed = false } = {}) {
  const [end, encoding] = isCompressed ? [".br", { "Content-Encoding": "br" }] : ["", {}];
  return listening(async (request, response) => {
    const [path, type] = /^\/chat-widget[\w.-]*\.(js|json)$/.exec(request.url) ?? [];
    const file = path && (await readFile(new URL(`.${path}${end}`, widget)).catch(() => undefined));
    if (!file) return answer(request, response);
    response.writeHead(200, { "Content-Type": TYPES[type], ...encoding }).end(file);
  });
}

/** Sends a page with `body` below its title. */
export function sendPage(response, body, head = "") {
  response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
  response.end(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Bench</title>
<link rel="icon" href="data:,">${head}</head><body><h1>Bench</h1>${body}</body></html>`);
}

/** The widget's tag, with the service on the same origin. `attributes`: further ones. */
export function tagOf(attributes = "") {
  return `<script src="/chat-widget.js" data-api-url="/api/chat" ${attributes} defer></script>`;
}
