/**
 * Describes the page's tools in each message. The answer to a click may have a call for the page: then
 * the answer waits for the call, and goes on with that to the same click with the call's result.
 */

import { own } from "../../open/own.ts";
import type { Ask } from "../../open/transport/transport.ts";
import { isClick, type Turn } from "../../open/turn.ts";
import {
  described,
  type PageTool,
  type PageTools,
  type Result,
  resultOf,
  toolsOf,
} from "./tool.ts";

/** The chat waits five seconds for the first byte. */
const PING_MS = 2_000;
const PING = ": the page is at work\n\n";
/** The result is sent so often before the call stays unsure. */
const ATTEMPTS = 4;
const PAUSE_MS = 1_500;

interface Call {
  readonly tool: string;
  readonly args: unknown;
}

export function acting(
  ask: Ask,
  apiUrl: URL,
  given: () => PageTools | undefined,
  turn?: Turn,
): Ask {
  return async (url, init) => {
    const tools = toolsOf(given());
    // Only messages have this address.
    if (url.href !== apiUrl.href || tools.size === 0) return ask(url, init);
    const added = JSON.stringify({ page_tools: described(tools) }).slice(1);
    const body = `${`${init.body}`.slice(0, -1)},${added}`;
    const response = await ask(url, { ...init, body });
    if (!response.ok || !response.body || !turn || !isClick(turn)) return response;
    const send = (result: Result): Promise<Response> => {
      const all = JSON.parse(body);
      const approval = { ...all.approval, result };
      return ask(url, { ...init, body: JSON.stringify({ ...all, approval }) });
    };
    return new Response(streamOf(answerOf(response.body, tools, send)), response);
  };
}

async function* answerOf(
  body: ReadableStream<Uint8Array>,
  tools: ReadonlyMap<string, PageTool>,
  send: (result: Result) => Promise<Response>,
): AsyncGenerator<string> {
  const events = eventsOf(body);
  for await (const event of events) {
    yield event;
    const call = callOf(event);
    if (!call) continue;
    // Without a result, this is the answer: that nobody knows whether the call was carried out.
    let rest = "";
    for await (const later of events) rest += later;
    const working = resultOf(tools.get(call.tool), call.args).then((result) => sent(send, result));
    let answer: Response | undefined | "ping" = "ping";
    while (answer === "ping") {
      answer = await Promise.race([working, pause(PING_MS).then(() => "ping" as const)]);
      if (answer === "ping") yield PING;
    }
    if (answer?.body) yield* eventsOf(answer.body);
    else yield rest;
  }
}

/** Sends a result until the service has it. The service counts the first one. */
async function sent(
  send: (result: Result) => Promise<Response>,
  result: Result,
): Promise<Response | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (attempt > 0) await pause(PAUSE_MS * attempt);
    const response = await send(result).catch(() => undefined);
    if (response?.ok) return response;
  }
  return undefined;
}

/** The call that an event gives to the page. */
function callOf(event: string): Call | undefined {
  const data = /^data: ?(.*)$/m.exec(event)?.[1];
  // Most events are text, and need not be parsed twice.
  if (!data?.includes('"arguments"')) return undefined;
  const step = own(JSON.parse(data), "step");
  const [tool, args] = [own(step, "tool"), own(step, "arguments")];
  return typeof tool === "string" && args ? { tool, args } : undefined;
}

/** The events of a stream, each with its empty line; and what follows the last one. */
async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const parts = (text + value).split("\n\n");
      text = parts.pop() ?? "";
      for (const part of parts) yield `${part}\n\n`;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
  if (text) yield text;
}

function streamOf(parts: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull: async (to) => {
      const { done, value } = await parts.next();
      if (done) to.close();
      else to.enqueue(encoder.encode(value));
    },
    cancel: () => void parts.return(undefined),
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((go) => setTimeout(go, ms));
}
