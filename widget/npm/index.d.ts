/** What an owner of a page may set; docs/widget.md describes each one, as `data-…`. */
export interface ChatSettings extends TextsByLanguage {
  /** The chat service: https, or http on localhost. */
  apiUrl: string;
  title?: string | undefined;
  greeting?: string | undefined;
  suggestions?: readonly string[] | undefined;
  consent?: string | undefined;
  botCheck?: `turnstile:${string}` | `hcaptcha:${string}` | undefined;
  contact?: boolean | undefined;
  preset?: string | undefined;
  /** Facts about the page, sent with each question. A change is taken over without a new start. */
  context?: PageContext | undefined;
  /** An image of your own site, or a data URL. */
  logo?: string | undefined;
  privacyUrl?: string | undefined;
  persist?: "session" | "local" | "none" | undefined;
  /** Names the visitor, signed by your site. A change is taken over without a new start. */
  userToken?: string | undefined;
  lang?: string | undefined;
  tip?: string | undefined;
  tipWhen?: string | undefined;
  mount?: `#${string}` | undefined;
  theme?: "auto" | "light" | "dark" | undefined;
  accent?: `#${string}` | undefined;
  position?: "auto" | "bottom-right" | "bottom-left" | undefined;
  open?: boolean | undefined;
  retry?: 0 | 1 | 2 | 3 | 4 | 5 | undefined;
  followUps?: "off" | undefined;
  /** Visitors can send pictures, which the service must accept, too. */
  images?: "on" | undefined;
  firstByteTimeout?: number | undefined;
  sound?: "off" | undefined;
  stallTimeout?: number | undefined;
  /** Offers the search of your pages to the browser's assistant, by WebMCP. */
  webmcp?: "on" | undefined;
  /** The address of the widget's script; by default `chat-widget.js` of the service. */
  src?: string | undefined;
  /** The hash of the script, with `src`. */
  integrity?: string | undefined;
  /** The nonce of the page's Content Security Policy. */
  nonce?: string | undefined;
}

/** A text for one language of the widget, such as `greetingZh`; the text without a tag is for all others. */
type TextsByLanguage = {
  [Name in `${"title" | "greeting" | "consent" | "tip"}${Tag}`]?: string | undefined;
} & { [Name in `suggestions${Tag}`]?: readonly string[] | undefined };

type Tag =
  | ("Ar" | "De" | "En" | "Es" | "Fr" | "He" | "Id" | "Ja" | "Ko" | "Pt" | "Ru" | "Vi")
  | ("Zh" | "ZhCn" | "ZhTw");

/** `page` for title and address, or facts of your own. */
export type PageContext = "page" | Readonly<Record<string, string | number | boolean>>;

/** A chat that was started. */
export interface StartedChat {
  /** Replaces the settings. The conversation is kept, as `persist` says. */
  update(settings: ChatSettings): void;
  /** Removes the widget from the page. */
  stop(): void;
}

/** Adds the widget to the page. Call it in a browser, once. */
export function startChat(settings: ChatSettings): StartedChat;

export type Rating = "up" | "down" | "none";

/** Why there is no answer, or only a part of one. */
export type ErrorCode =
  | "invalid_request"
  | "rate_limit_exceeded"
  | "upstream_service_unavailable"
  | "gateway_timeout"
  | "forbidden"
  | "too_large"
  | "budget_exhausted"
  | "verification_required"
  | "unreachable"
  | "cut"
  | "disconnected";

/** The `detail` of each event; `id` is the same for a question and its answer. */
export interface EventDetails {
  readonly open: Readonly<Record<string, never>>;
  readonly close: Readonly<Record<string, never>>;
  readonly message: {
    readonly id: string;
    readonly role: "user" | "assistant";
    readonly text: string;
  };
  /** Text as it arrives. A new answer to the same question starts again from the beginning. */
  readonly delta: { readonly id: string; readonly text: string };
  /** The visitor's rating of an answer; `none` removes the rating. */
  readonly feedback: { readonly id: string; readonly rating: Rating };
  readonly error: { readonly id: string; readonly code: ErrorCode };
}

export type EventName = keyof EventDetails;

/** `window.ChatWidget`. Calls before the chat is loaded fetch it, and run in their order. */
export interface ChatWidget {
  open(): void;
  close(): void;
  toggle(): void;
  /** Opens the panel and sends a question. Does nothing while an answer is in progress. */
  send(text: string): void;
  /** Starts a new conversation. */
  reset(): void;
  /** Removes the widget from the page; the script may be included again later. */
  destroy(): void;
  /** Replaces the facts about the page, which are sent with each question. */
  context(facts: unknown): void;
  /** Replaces the tools of the page, by name: the visitor approves each call, and the page carries it out. */
  tools(tools: PageTools): void;
  /** Calls `told` with the detail of each event. Call the returned function to unsubscribe. */
  on<Name extends EventName>(name: Name, told: (detail: EventDetails[Name]) => void): () => void;
}

/** A tool of the page; a table of the service's kefu.toml must name it. */
export interface PageTool {
  /** For the model: what the tool does, and when. */
  readonly description: string;
  /** The JSON Schema of each parameter. None may be free text, which a card cannot show. */
  readonly parameters?: Readonly<Record<string, object>>;
  /** The names of parameters that may be left out. */
  readonly optional?: readonly string[];
  /** The question of the card, such as `Add {count} of {product}?`. */
  readonly approve?: string;
  /** Carries a call out. What it returns is a text, or becomes JSON, for the model. */
  run(args: Readonly<Record<string, unknown>>): unknown;
}

export type PageTools = Readonly<Record<string, PageTool>>;

type ChatEvents = {
  [Name in EventName as `chat-widget:${Name}`]: CustomEvent<EventDetails[Name]>;
};

declare global {
  interface Window {
    ChatWidget?: ChatWidget;
    ChatWidgetConfig?: unknown;
  }
  interface DocumentEventMap extends ChatEvents {}
}
