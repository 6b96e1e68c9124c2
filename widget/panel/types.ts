/** The types of the panel's API; an opened log is converted to them. */

/** The attendance of a session: `bot`, `waiting`, `person` or `closed`. */
export interface Attendance {
  readonly state: string;
  readonly operator: string;
  readonly since: number;
}

export interface Row {
  readonly attendance: Attendance;
  readonly id: string;
  readonly title: string;
  readonly updated_at: number;
  readonly turns: number;
  readonly tokens: number;
  readonly errors: number;
  readonly status: string;
  readonly unanswered: number;
  readonly downs: number;
  /** The visitor's comment on the newest answer with a comment. */
  readonly comment: string;
  readonly tool_failures: number;
  readonly declined: number;
  /** The newest message of the visitor or line of an operator; empty if it is not known. */
  readonly line: string;
  /** The operator who wrote `line`; empty for the visitor. */
  readonly line_by: string;
  /** What a visitor who waits wrote in the form; empty otherwise. */
  readonly request: string;
}

/** The newest chats that wait for a person, and those that are with one. */
export interface Queue {
  readonly waiting: SessionPage;
  readonly person: SessionPage;
  /** Why the last delivery of a request failed; empty if it did not. */
  readonly trouble: string;
}

export interface SessionPage {
  readonly rows: readonly Row[];
  readonly cursor: string | null;
  /** The number of chats that were read, if no index fits the filter. */
  readonly read: number | null;
  /** The number of messages to be indexed before a search. */
  readonly waiting: number;
}

export interface Session {
  readonly id: string;
  readonly title: string;
  readonly config_id: string;
  readonly created_at: number;
  readonly updated_at: number;
  /** The field is absent in a log. */
  readonly attendance?: Attendance;
  /** The site's id of the visitor; empty for an anonymous visitor, absent in older logs. */
  readonly user?: string;
}

export interface Message {
  readonly id: number;
  readonly role: string;
  readonly content: string;
  readonly status: string;
  readonly created_at: number;
  readonly reply_to?: number | null;
  readonly rating?: string | null;
  /** The visitor's comment on an answer that they rated down; absent in older files. */
  readonly comment?: string;
  /** The name of the person who wrote the line. */
  readonly operator?: string;
  readonly client_message_id?: string | null;
  /** What the operator wrote, if `content` is a translation of it; empty or absent otherwise. */
  readonly original?: string;
  /** The calls of tools for a question; absent without any. */
  readonly steps?: readonly Step[];
  /** The pictures of a visitor's message; absent without any. */
  readonly images?: readonly MessageImage[];
}

export interface MessageImage {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

/** A call of a tool in an answer. */
export interface Step {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
  /** The number of the request to the model that asked for it, from 0. */
  readonly step: number;
  /** The length of the answer's text before the call, in characters. */
  readonly at: number;
  /** `asked`, `denied`, `sending`, `done`, `failed` or `unsure`. */
  readonly state: string;
  readonly result: string;
  readonly ms: number;
  readonly title: string;
  /** The question to the visitor; empty for a call without a card. */
  readonly card: string;
  /** The Unix time until which the visitor may click. */
  readonly expires: number;
}

export interface Attempt {
  readonly key: string;
  readonly outcome: string;
  readonly ms: number;
  /** Milliseconds from the request to the attempt: two keys may be asked at once. */
  readonly at?: number;
  readonly rested?: boolean;
  /** The key is asked last for a while. */
  readonly failing?: boolean;
  /** "primary" or "fallback", if there are two. */
  readonly upstream?: string;
  /** The text of a refused response. */
  readonly said?: string;
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
  /** The number of earlier attempts of the call's message. */
  readonly again?: number;
  /** Absent for an answer. `search`: the call wrote words for the search of the site's pages. */
  readonly purpose?: "summary" | "search";
  readonly config_id?: string;
  readonly page?: Readonly<Record<string, string>>;
  readonly api_type?: string;
  readonly host?: string;
  readonly sha256?: string;
  readonly attempts?: readonly Attempt[];
  readonly trimmed?: Trimmed;
  readonly local?: { prompt: number; completion?: number; window: number | null; strategy: string };
  readonly history?: { read: number; told: number };
  readonly knowledge?: {
    readonly passages: readonly {
      readonly n: number;
      readonly url: string;
      readonly title: string;
      readonly heading: string;
      readonly score: number;
      readonly terms: readonly string[];
    }[];
    readonly used: readonly number[];
    readonly answered: boolean;
    readonly words?: string;
  };
  readonly timings?: { chunk_count: number };
  readonly redacted?: boolean;
  /** Names the unreadable parts of the stored record. */
  readonly damaged?: string;
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
  /** The two times are in seconds. */
  readonly ttft: number | null;
  readonly duration: number;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  /** The body as it was sent. */
  readonly request: string | null;
  readonly response: unknown;
  readonly meta: Meta;
  readonly error: { code?: string; message?: string } | null;
  /** The actions of the model, in a terminal session. */
  readonly tools?: readonly Tool[];
}

export interface Whole {
  readonly session: Session;
  readonly messages: readonly Message[];
  readonly calls: readonly Call[];
  readonly before?: number | null;
  /** The forms with which the visitor asked for a person, oldest first; absent in a file. */
  readonly requests?: readonly ContactRequest[];
  readonly mail?: VisitorMail | null;
}

/** The visitor's page, which asks for new lines while it is open. */
export interface VisitorPage {
  /** When it asked last, in Unix seconds; null if that is not known, or long ago. */
  readonly seen_at: number | null;
  readonly is_open: boolean;
}

/** What is new in a session. */
export interface News {
  readonly attendance: Attendance;
  readonly messages: readonly Message[];
  readonly mail: VisitorMail | null;
  readonly page: VisitorPage;
}

/** The newest mail with operators' lines to a visitor who has left. Times are in Unix seconds. */
export interface VisitorMail {
  /** When it is sent or tried again; 0 after its end. */
  readonly due_at: number;
  /** How often it was tried without success. */
  readonly attempts: number;
  /** When the last one was sent; 0 if none was. */
  readonly mailed_at: number;
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
  readonly chats: number;
  readonly unanswered: number;
  readonly ups: number;
  readonly downs: number;
  readonly handoffs: number;
  readonly first_words: number;
  readonly first_word_ms: number;
  /** Searches and readings of pages by assistants, at `/mcp`. */
  readonly assistants: number;
  /** Complete answers of the model, or of a hook. */
  readonly answers: number;
  /** Messages within a day of the visitor's message before, and wishes for another answer. */
  readonly again: number;
  /** Answers that cite a source. */
  readonly proved: number;
}

/** A question with all that have equal words. */
export interface Group {
  readonly question: string;
  readonly times: number;
  /** The chat in which the question was asked last. */
  readonly session_id: string;
  readonly at: number;
  readonly reasons: readonly string[];
  /** Visitors' comments on answers that they rated down, newest first. */
  readonly comments: readonly string[];
}

/** The calls of a tool in a period. */
export interface ToolSums {
  /** `?` for all names that the model made up. */
  readonly tool: string;
  readonly uses: number;
  readonly failures: number;
  readonly unsure: number;
  readonly asked: number;
  readonly approved: number;
  readonly declined: number;
}

export interface Insights {
  readonly tools: readonly ToolSums[];
  readonly days: readonly Day[];
  /** The number of questions that were read for `questions`. */
  readonly read: number;
  /** Whether the list has all questions of the period. */
  readonly is_whole: boolean;
  readonly questions: readonly Group[];
  readonly gaps: readonly Group[];
  /** Whether all chats of the period were looked at for `gaps`. */
  readonly gaps_whole: boolean;
  /** The learnt pages of the site; null without any. */
  readonly pages: Learnt | null;
}

export interface Learnt {
  readonly count: number;
  readonly made: number;
  /** Whether the learnt pages are out of date. */
  readonly old: boolean;
  /** The pages that failed in the last run. */
  readonly problems: readonly { readonly page: string; readonly reason: string }[];
}

export interface ContactRequest {
  readonly id: string;
  readonly session_id: string;
  readonly name: string;
  readonly email: string;
  readonly message: string;
  readonly created_at: number;
  readonly attempts: number;
  readonly delivered_at: number | null;
  readonly done_at: number | null;
  /** The text that the visitor accepted; empty: none. */
  readonly consent: string;
}

export interface Contacts {
  readonly requests: readonly ContactRequest[];
  /** The next page; null at the end. */
  readonly cursor: string | null;
  /** Whether requests are sent to a webhook or mailed. */
  readonly delivers: boolean;
  /** The key of the webhook's signatures; empty without a webhook. */
  readonly signing_key: string;
}

/** An answer for all visitors, before it is published. */
export interface Draft {
  readonly question: string;
  /** Markdown. */
  readonly text: string;
  /** The name that visitors see; may be empty. */
  readonly author: string;
  /** The address of a page; may be empty. */
  readonly page: string;
  /** The chat from which it is made. */
  readonly session_id: string;
}

export interface WrittenAnswer extends Draft {
  readonly id: string;
  /** The name of the source, such as `Answered by Anna, 24 Nov 2026`. */
  readonly cited_as: string;
  /** A line of a file of questions, for `kefu test`. */
  readonly case: object;
}

/** A part of a draft that may name a person, in characters. */
export interface Mark {
  readonly field: string;
  readonly start: number;
  readonly end: number;
}

export interface Reply {
  readonly name: string;
  readonly text: string;
}

/** A sign-in to the panel. */
export interface SignIn {
  readonly id: string;
  readonly opened_at: number;
  readonly expires_at: number;
  /** Empty if it is not known. */
  readonly operator: string;
  /** The only site whose chats it shows; empty for all. */
  readonly site: string;
  /** `read`: it changes nothing. */
  readonly may: string;
  /** Whether it is the sign-in of this tab. */
  readonly own: boolean;
}

/** What an operator writes to a visitor. */
export interface Line {
  readonly text: string;
  /** Whether the visitor gets it in their language. */
  readonly translate: boolean;
}

export interface About {
  readonly version: string;
  readonly model: string;
  readonly capture: string;
  readonly keeps_chats: boolean;
  /** The operator's name in their link; empty if they type one. */
  readonly operator: string;
  /** The only site whose chats the sign-in shows; empty for all. */
  readonly site: string;
  /** `read`: the sign-in changes nothing. */
  readonly may: string;
  /** The ready replies of operators. */
  readonly replies: readonly Reply[];
  /** Whether operators can read and write in their language. */
  readonly translates: boolean;
  readonly has_contact_form: boolean;
  readonly has_pages: boolean;
  readonly presets: readonly string[];
  readonly price_input: number | null;
  readonly price_output: number | null;
  /** The used and the maximum size of the store in bytes; null if there is no limit. */
  readonly store: { readonly used: number; readonly limit: number; readonly level: string } | null;
}
