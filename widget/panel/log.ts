/** A file from this computer as a conversation: a terminal session's log, or the panel's export. */

import type { Call, Message, Session, Tool, Whole } from "./types.ts";

interface Line {
  readonly type?: string;
  readonly ts?: string;
  readonly session_id?: string;
  readonly turn?: number;
  readonly step?: number;
  readonly content?: string;
  readonly meta?: Record<string, unknown>;
}

/** Parses complete lines; an incomplete last line is skipped. `undefined` for no log. */
export function readLog(text: string): Whole | undefined {
  const lines = text.split("\n").flatMap(parsed);
  if (lines.some(({ type }) => type === "message")) return exported(lines);
  if (!lines.some(({ type, turn }) => type === "session_start" || turn)) return undefined;
  return new Reading(lines).whole();
}

function parsed(line: string): Line[] {
  try {
    const value: unknown = JSON.parse(line);
    return value && typeof value === "object" && !Array.isArray(value) ? [value] : [];
  } catch {
    return [];
  }
}

function exported(lines: readonly Line[]): Whole | undefined {
  const session = lines.find(({ type }) => type === "session");
  if (!session) return undefined;
  const of = (wanted: string) => lines.filter(({ type }) => type === wanted) as unknown[];
  const calls = (of("call") as Call[]).map((call) => ({ ...call, meta: call.meta ?? {} }));
  return { session: session as unknown as Session, messages: of("message") as Message[], calls };
}

interface Step extends Omit<Call, "tools"> {
  tools: Tool[];
}

/**
 * Converts events in their order. The conversion invents message ids: odd for a question, the next
 * for its answer.
 */
class Reading {
  #messages = new Map<number, Message>();
  #steps: Step[] = [];
  #model = "";
  readonly lines: readonly Line[];

  constructor(lines: readonly Line[]) {
    this.lines = lines;
    for (const line of lines) this.#read(line);
  }

  whole(): Whole {
    const first = this.lines[0] ?? {};
    const messages = [...this.#messages.values()].sort((a, b) => a.id - b.id);
    const id = first.session_id ?? "";
    const title = messages[0]?.content.slice(0, 40) || id;
    const times = { created_at: time(first), updated_at: time(this.lines.at(-1) ?? {}) };
    return {
      session: { id, title, config_id: this.#model, ...times },
      messages,
      calls: this.#steps,
    };
  }

  #read(line: Line): void {
    const meta = line.meta ?? {};
    const ask = 2 * (line.turn ?? 0) - 1;
    const last = this.#steps.at(-1);
    switch (line.type) {
      case "session_start":
      case "session_resume":
        this.#model = text(meta.model);
        break;
      case "turn_start":
        this.#say(ask, "user", line, "pending");
        break;
      case "assistant":
        this.#steps.push(step(line, ask, this.#model));
        break;
      case "action":
        last?.tools.push({ tool: text(meta.tool), input: text(meta.input), output: "", ok: true });
        break;
      case "observation": {
        const tool = last?.tools.pop();
        const ok = meta.ok !== false;
        const before = tool ?? { tool: text(meta.tool), input: "" };
        last?.tools.push({ ...before, output: line.content ?? "", ok });
        break;
      }
      case "error":
        this.#failed(line, ask);
        break;
      case "final":
      case "interrupt":
        if (line.content) this.#say(ask + 1, "assistant", line, "ok");
        break;
      case "turn_end":
        this.#end(ask, text(meta.status));
    }
  }

  #say(id: number, role: string, line: Line, status: string): void {
    const content = line.content ?? "";
    this.#messages.set(id, { id, role, content, status, created_at: time(line) });
  }

  #end(ask: number, said: string): void {
    const status = { ok: "ok", interrupted: "partial" }[said] ?? "failed";
    for (const id of [ask, ask + 1]) {
      const message = this.#messages.get(id);
      if (message) this.#messages.set(id, { ...message, status });
    }
  }

  /** Adds a call that ended without an answer. */
  #failed(line: Line, ask: number): void {
    const meta = line.meta ?? {};
    const error = { code: text(meta.code), message: text(meta.message) || (line.content ?? "") };
    this.#steps.push({
      ...step({ ...line, content: "" }, ask, this.#model),
      response: null,
      error,
    });
  }
}

function step(line: Line, ask: number, model: string): Step {
  const meta = line.meta ?? {};
  const tokens = (meta.tokens ?? {}) as Record<string, unknown>;
  const estimate = (meta.estimate ?? {}) as Record<string, unknown>;
  const finish = text(meta.finishReason) || null;
  const ttft = number(meta.ttftMs);
  const duration = (number(meta.latencyMs) ?? 0) / 1000;
  const prompt = number(estimate.prompt);
  return {
    message_id: ask,
    number: (line.step ?? 0) + 1,
    created_at: time(line) - duration,
    finish_reason: finish,
    stream_complete: finish !== null,
    ttft: ttft === null ? null : ttft / 1000,
    duration,
    prompt_tokens: number(tokens.prompt),
    completion_tokens: number(tokens.completion),
    request: null,
    response: line.content ?? "",
    meta: {
      model: text(meta.model) || model,
      ...(Array.isArray(meta.attempts) ? { attempts: meta.attempts } : {}),
      ...(prompt === null ? {} : { local: { prompt, window: null, strategy: "" } }),
    },
    error: null,
    tools: [],
  };
}

function time(line: Line): number {
  const ms = Date.parse(line.ts ?? "");
  return Number.isNaN(ms) ? 0 : ms / 1000;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function number(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
