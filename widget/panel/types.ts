/** What the panel's API gives, and what a log that is opened is turned into. */

export interface Row {
  readonly id: string;
  readonly title: string;
  readonly updated_at: number;
  readonly turns: number;
  readonly tokens: number;
  readonly errors: number;
  readonly status: string;
}

export interface Session {
  readonly id: string;
  readonly title: string;
  readonly config_id: string;
  readonly created_at: number;
  readonly updated_at: number;
}

export interface Message {
  readonly id: number;
  readonly role: string;
  readonly content: string;
  readonly status: string;
  readonly created_at: number;
  readonly reply_to?: number | null;
  readonly rating?: string | null;
}

export interface Attempt {
  readonly key: string;
  readonly outcome: string;
  readonly ms: number;
  readonly rested?: boolean;
}

export interface Trimmed {
  readonly kept: number;
  readonly dropped: number;
  readonly reasons: Readonly<Record<string, number>>;
  readonly tokens: number;
  readonly limit: number;
  readonly over_budget: boolean;
  readonly fallback: string;
  readonly left_out: readonly (readonly [number, number, string])[];
}

export interface Meta {
  readonly request_id?: string;
  /** How often its message had been tried before. */
  readonly again?: number;
  /** It was to tell older messages in short, for the answer's sake. */
  readonly purpose?: "summary";
  readonly config_id?: string;
  readonly api_type?: string;
  readonly host?: string;
  readonly sha256?: string;
  readonly attempts?: readonly Attempt[];
  readonly trimmed?: Trimmed;
  readonly local?: { prompt: number; completion?: number; window: number | null; strategy: string };
  readonly history?: { read: number; told: number };
  readonly timings?: { chunk_count: number };
  readonly redacted?: boolean;
  readonly model?: string;
}

export interface Tool {
  readonly tool: string;
  readonly input: string;
  readonly output: string;
  readonly ok: boolean;
}

export interface Call {
  readonly message_id: number;
  readonly number: number;
  readonly created_at: number;
  readonly finish_reason: string | null;
  readonly stream_complete: boolean;
  /** Both in seconds. */
  readonly ttft: number | null;
  readonly duration: number;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  /** The body as it was sent. */
  readonly request: string | null;
  readonly response: unknown;
  readonly meta: Meta;
  readonly error: { code?: string; message?: string } | null;
  /** Of a terminal session: what the model had done. */
  readonly tools?: readonly Tool[];
}

export interface Whole {
  readonly session: Session;
  readonly messages: readonly Message[];
  readonly calls: readonly Call[];
  readonly before?: number | null;
}

export interface Key {
  readonly key: string;
  readonly status: string;
  readonly seconds_left: number;
  readonly rate_limited: number;
  readonly failing: number;
  readonly outcomes: Readonly<Record<string, number>>;
}

export interface Day {
  readonly date: string;
  readonly turns: number;
  readonly errors: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

export interface About {
  readonly version: string;
  readonly model: string;
  readonly capture: string;
  readonly keeps_chats: boolean;
  readonly price_input: number | null;
  readonly price_output: number | null;
}
