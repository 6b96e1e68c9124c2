/**
 * A chat service that plays what a test wrote: real HTTP, real event streams, chosen faults.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Act =
  | { readonly send: string | Uint8Array }
  | { readonly wait: number }
  /** Until the test says so. */
  | { readonly until: Promise<unknown> }
  /** Resets the connection, without an end of the response. */
  | "reset"
  /** Keeps the connection open, silent, until the client goes. */
  | "silence";

export interface Play {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly acts: readonly Act[];
}

export interface Received {
  readonly at: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: {
    messages: { role: string; content: string }[];
    client_message_id: string;
    sources?: boolean;
    steps?: boolean;
    approval?: { id: string; approved: boolean };
    message?: string;
    images?: readonly string[];
    session_id?: string;
    again?: string;
    config_id?: string;
    context?: Readonly<Record<string, string>>;
    verification_token?: string;
    verification_pass?: string;
  };
  /** The client went before the play was over. */
  isAborted: boolean;
}

export interface KeptMessage {
  readonly images?: readonly { id: string; type: string; width: number; height: number }[];
  readonly sources?: readonly { number: number; title: string; url: string }[];
  readonly steps?: readonly object[];
  readonly approval?: Approval & { state: string };
  readonly role: "user" | "assistant";
  readonly content: string;
  readonly status: "ok" | "pending" | "failed" | "partial" | "interrupted";
}

export function chunk(text: string): string {
  const choices = [{ index: 0, delta: { content: text }, finish_reason: null }];
  return `data: ${JSON.stringify({ object: "chat.completion.chunk", choices })}\n\n`;
}

export function finish(reason = "stop"): string {
  const choices = [{ index: 0, delta: {}, finish_reason: reason }];
  return `data: ${JSON.stringify({ object: "chat.completion.chunk", choices })}\n\n`;
}

/** The event before an answer: the pages that it may cite. */
export function sources(
  pages: readonly { number: number; title: string; url: string }[],
  links: readonly string[] = [],
): string {
  const event = { object: "kefu.sources", choices: [], sources: pages, links };
  return `data: ${JSON.stringify(event)}\n\n`;
}

/** The event after an answer: the pages that it cites, and what the visitor may ask next. */
export function cited(
  used: readonly number[],
  answered = true,
  followUps?: readonly string[],
): string {
  const event = { object: "kefu.sources", choices: [], used, answered, follow_ups: followUps };
  return `data: ${JSON.stringify(event)}\n\n`;
}

/** The event about a step of an answer. */
export function step(
  state: string,
  title: string,
  more: Readonly<Record<string, string>> = {},
): string {
  const known = { tool_call_id: "s0c0", tool: "order_status", title, state, ...more };
  const event = { object: "kefu.step", choices: [], step: known };
  return `data: ${JSON.stringify(event)}\n\n`;
}

export interface Approval {
  readonly id: string;
  readonly tool_call_id: string;
  readonly tool: string;
  readonly text: string;
  readonly expires: number;
}

/** The event that asks the visitor before something is changed. */
export function approval(card: Approval): string {
  const event = { object: "kefu.approval", choices: [], approval: card };
  return `data: ${JSON.stringify(event)}\n\n`;
}

/** An act that lasts until `open` is called, as once the page shows what came before a cut. */
export function gate(): { readonly until: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const until = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { until, open };
}

export const DONE = "data: [DONE]\n\n";
export const PING = ": ping\n\n";

export function errorEvent(code: string): string {
  return `data: ${JSON.stringify({ error: { message: "", type: "server_error", param: null, code } })}\n\n`;
}

/** A whole answer, a chunk every `gap` milliseconds. */
export function answer(texts: readonly string[], gap = 0): Play {
  const acts = texts.flatMap((text): Act[] => [{ send: chunk(text) }, { wait: gap }]);
  return { acts: [...acts, { send: finish() + DONE }] };
}

export function refusal(
  status: number,
  code: string,
  headers: Readonly<Record<string, string>> = {},
): Play {
  const body = { error: { message: "no", type: "server_error", param: null, code } };
  return {
    status,
    headers: { "Content-Type": "application/json", ...headers },
    acts: [{ send: JSON.stringify(body) }],
  };
}

const CORS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Headers": "content-type, x-session-token, x-user-token",
  "Access-Control-Allow-Methods": "GET, POST, DELETE",
  "Access-Control-Expose-Headers":
    "Retry-After, X-Session-Id, X-Session-Token, X-Verification-Pass, x-should-retry",
};

const WITH_FORM = { fields: ["message"], consent: "", link: "" };

export class ScriptedService {
  readonly received: Received[] = [];
  /** Message ids of the cancel requests that came. */
  readonly cancelled: string[] = [];
  /** The bodies of the feedback requests. */
  readonly rated: unknown[] = [];
  /** The stored messages of the visitor's chat; undefined: the service stores no chats. */
  kept: readonly KeptMessage[] | "gone" | undefined;
  /** The stored pictures of the chat, as JPEG, by id. */
  readonly pictures = new Map<string, Buffer>();
  /** The chats that it lists for each user; undefined: it has no lists. */
  chats: readonly object[] | undefined;
  /** The user whose chat that is; to all others it is not there. */
  owner: string | undefined;
  /** The page's origin is not allowed. */
  refusesPages = false;
  /** The requests for the stored chat, each with its tokens. */
  readonly looked: string[] = [];
  /** What the service plays when the widget takes up an answer of the stored chat; then it has none. */
  readonly answers: Play[] = [];
  /** The way to a person that the service describes. */
  contact: object = WITH_FORM;
  /** The requests of the contact form that came without a stored chat. */
  readonly contacts: unknown[] = [];
  readonly #plays: Play[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
  }

  static async start(): Promise<ScriptedService> {
    const service = new ScriptedService();
    await new Promise<void>((resolve) => service.#server.listen(0, "127.0.0.1", resolve));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/api/chat`;
  }

  /** Resets the service, and plays one of these for each request; then 500s, which no test expects. */
  script(...plays: readonly Play[]): void {
    this.received.length = 0;
    this.cancelled.length = 0;
    this.rated.length = 0;
    this.answers.length = 0;
    this.looked.length = 0;
    this.kept = undefined;
    this.pictures.clear();
    this.chats = undefined;
    this.owner = undefined;
    this.contact = WITH_FORM;
    this.contacts.length = 0;
    this.refusesPages = false;
    this.#plays.splice(0, this.#plays.length, ...plays);
  }

  #ofSession(request: IncomingMessage, response: ServerResponse): void {
    const { "x-session-token": token, "x-user-token": user } = request.headers;
    this.looked.push([request.method, request.url, token, user].join(" ").trim());
    const isOthers = this.owner !== undefined && this.owner !== subOf(user);
    if (this.kept === undefined || this.kept === "gone" || isOthers) {
      response.writeHead(404, CORS).end("{}");
    } else if (request.url?.endsWith("/answer")) {
      response.writeHead(503, { ...CORS, "x-should-retry": "false" }).end("{}");
    } else if (request.url?.includes("/images/")) {
      const picture = this.pictures.get(request.url.replace(/.*\//, ""));
      response.writeHead(picture ? 200 : 404, { ...CORS, "Content-Type": "image/jpeg" });
      response.end(picture);
    } else if (request.method === "DELETE") response.writeHead(204, CORS).end();
    else if (request.url?.includes("/export?")) {
      response.writeHead(200, { ...CORS, "Content-Type": "text/markdown" }).end("# A chat");
    } else {
      const messages = this.kept.map((message, at) => ({ id: at + 1, created_at: 0, ...message }));
      response.writeHead(200, { ...CORS, "Content-Type": "application/json" });
      response.end(JSON.stringify({ messages, before: null }));
    }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "OPTIONS") {
      response.writeHead(204, this.refusesPages ? {} : CORS).end();
      return;
    }
    if (request.url === "/health") {
      response.writeHead(200, { ...CORS, "Content-Type": "application/json" });
      response.end(JSON.stringify({ status: "ok", sessions: this.kept !== undefined }));
      return;
    }
    if (request.url?.endsWith("/answer") && this.answers.length > 0) {
      this.looked.push(`${request.method} ${request.url}`);
      await perform(this.answers.shift() as Play, response);
      return;
    }
    if (request.url?.startsWith("/api/sessions?") && this.chats) {
      this.looked.push(`${request.url} ${subOf(request.headers["x-user-token"])}`);
      response.writeHead(200, { ...CORS, "Content-Type": "application/json" });
      response.end(JSON.stringify({ sessions: this.chats, cursor: null }));
      return;
    }
    const isContact = /^\/api\/(sessions\/\w+\/)?contact$/.test(`${request.url}`);
    if (isContact && request.method === "GET") {
      response.writeHead(200, { ...CORS, "Content-Type": "application/json" });
      response.end(JSON.stringify(this.contact));
      return;
    }
    if (request.url?.startsWith("/api/sessions/")) {
      this.#ofSession(request, response);
      return;
    }
    if (request.method === "GET") {
      response.writeHead(405, this.refusesPages ? {} : CORS).end("{}");
      return;
    }
    const body = JSON.parse(await textOf(request));
    if (request.url === "/api/contact") {
      this.contacts.push(body);
      response.writeHead(204, CORS).end();
      return;
    }
    if (request.url === "/api/chat/cancel") {
      this.cancelled.push(body.client_message_id);
      response.writeHead(204, CORS).end();
      return;
    }
    if (request.url === "/api/chat/feedback") {
      this.rated.push(body);
      response.writeHead(204, CORS).end();
      return;
    }
    const received: Received = {
      at: performance.now(),
      headers: request.headers,
      body,
      isAborted: false,
    };
    response.on("close", () => {
      received.isAborted = !response.writableFinished;
    });
    this.received.push(received);
    await perform(this.#plays.shift() ?? { status: 500, acts: [] }, response);
  }
}

/** The headers of an answer in a kept chat. */
export function inSession(play: Play, id: string, token: string): Play {
  return { ...play, headers: { ...play.headers, "X-Session-Id": id, "X-Session-Token": token } };
}

/** The beginning of an answer in a kept chat, whose line is cut at `shown`. */
export function cutAt(shown: Act): Play {
  return inSession({ acts: [{ send: chunk("Half an ") }, shown, "reset"] }, "s1", "t");
}

async function perform(play: Play, response: ServerResponse): Promise<void> {
  const type = { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store" };
  response.writeHead(play.status ?? 200, { ...CORS, ...type, ...play.headers });
  response.flushHeaders();
  const gone = new Promise<void>((resolve) => response.on("close", resolve));
  for (const act of play.acts) {
    if (response.destroyed) return;
    if (act === "reset") {
      response.socket?.resetAndDestroy();
      return;
    }
    if (act === "silence") await gone;
    else if ("send" in act) response.write(act.send);
    else if ("until" in act) await Promise.race([act.until, gone]);
    else await Promise.race([new Promise((resolve) => setTimeout(resolve, act.wait)), gone]);
  }
  response.end();
}

/** The user whom a token names. */
function subOf(token: unknown): unknown {
  const [, payload = ""] = `${token}`.split(".");
  return payload && JSON.parse(Buffer.from(payload, "base64url").toString()).sub;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
