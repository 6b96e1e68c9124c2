/** A website that embeds the built widget: another origin than the service, as in life. */

import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

const STATIC = new URL("../../functions/kefu/web/static/", import.meta.url);

/** The other files of the service: its own pages and their parts. */
const PAGES = ["/playground", "/gallery", "/stage"];

/** By path and query. */
const TYPES: readonly (readonly [RegExp, string])[] = [
  [/^[^{<]*\.svg/, "image/svg+xml"],
  [/^[^{<]*\.css/, "text/css; charset=utf-8"],
  [/^[^{<]*\.js[^o]/, "text/javascript; charset=utf-8"],
  [/^[^{<]*\{/, "application/json"],
  [/^/, "text/html; charset=utf-8"],
];

/** As strict as the service's own page policy, but for the other origin of the service. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "connect-src 'self' http://127.0.0.1:*; require-trusted-types-for 'script'";

/** That of the service for its own pages. */
const OWN_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "img-src 'self' data:; frame-src 'self'; base-uri 'none'; form-action 'none'";

export class Site {
  readonly #pages = new Map<string, readonly [content: string, policy: string]>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const path = new URL(request.url ?? "/", "http://site").pathname;
      const page = this.#pages.get(path);
      const file = partOf(path);
      if (page !== undefined) {
        const [content, policy] = page;
        const type = TYPES.find(([kind]) => kind.test(path + content))?.[1] ?? "text/plain";
        response.writeHead(200, { "Content-Type": type, "Content-Security-Policy": policy });
        response.end(content);
      } else if (file !== undefined) {
        const policy = PAGES.includes(path)
          ? { "Content-Security-Policy": OWN_POLICY }
          : { "Access-Control-Allow-Origin": "*" };
        const content = await readFile(new URL(file[0], STATIC)).catch(() => undefined);
        response.writeHead(content ? 200 : 404, { "Content-Type": file[1], ...policy });
        response.end(content);
      } else {
        response.writeHead(404).end();
      }
    });
  }

  static async start(): Promise<Site> {
    const site = new Site();
    await new Promise<void>((resolve) => site.#server.listen(0, "127.0.0.1", resolve));
    return site;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Serves a page, and returns its address. `stricter`: additions to its policy. */
  page(path: string, content: string, stricter = "", policy = POLICY): string {
    this.#pages.set(path, [content, policy + stricter]);
    return this.origin + path;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function partOf(path: string): readonly [string, string] | undefined {
  if (PAGES.includes(path)) return [`${path.slice(1)}.html`, "text/html; charset=utf-8"];
  if (/^\/chat-widget[\w.-]*\.js$/.test(path)) {
    return [`widget${path}`, "text/javascript; charset=utf-8"];
  }
  if (/^\/chat-widget-[\w.-]+\.json$/.test(path)) return [`widget${path}`, "application/json"];
  if (/^\/\w+\.js$/.test(path)) return [path.slice(1), "text/javascript; charset=utf-8"];
  if (/^\/(demo|pages|stage)\.css$/.test(path)) return [path.slice(1), "text/css; charset=utf-8"];
  return undefined;
}

/** A page with the widget's tag; `attributes` as they would be written there. */
export function pageWith(attributes: Readonly<Record<string, string>>, extra = ""): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A shop</title>
<link rel="icon" href="data:,"></head><body><header><nav><a href="#help">Help</a></nav></header>
<main><h1>A shop</h1><button id="before">Buy</button></main><footer id="help">Imprint</footer>${extra}
${tagWith(attributes)}</body></html>`;
}

export function tagWith(attributes: Readonly<Record<string, string>>): string {
  const written = Object.entries(attributes).map(([name, value]) => `${name}="${value}"`);
  return `<script src="/chat-widget.js" ${written.join(" ")} defer></script>`;
}
