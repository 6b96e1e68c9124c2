/** A question with its answer: the type that conversation, storage, transports and views share. */

/** The reasons why the service refuses or ends an answer. */
export type Code =
  | "invalid_request"
  | "rate_limit_exceeded"
  | "upstream_service_unavailable"
  | "gateway_timeout";

/** The reasons why the service refuses a message whatever its content. answer/ has texts. */
export type Refusal =
  /** The service does not accept the page, its user or its key. */
  "forbidden" | "too_large" | "budget_exhausted" | "verification_required";

export type Trouble =
  | Code
  | Refusal
  /** No connection: refused, an unknown host, an invalid certificate, or CORS. */
  | "unreachable"
  /** The stream ended without [DONE]. */
  | "cut"
  /** The stream stalled or broke in the middle, or the tab slept or was left. */
  | "disconnected";

/** How an answer ended: complete, stopped by the visitor, or with an error. */
export type Ending = "whole" | "stopped" | Trouble;

export type Rating = "up" | "down" | "none";

/** The reason why the next request has not been sent yet. */
export type Waiting = "offline" | "rate_limit_exceeded";

/** A page of the site that an answer may cite; `url` is empty if it has no address on the web. */
export interface Source {
  readonly number: number;
  readonly title: string;
  readonly url: string;
}

/** The service's data about the pages behind an answer. The answer's text does not matter. */
export interface Sources {
  readonly pages: readonly Source[];
  /** The addresses that the answer may link to, besides the cited pages and this site. */
  readonly links: readonly string[];
  /** The numbers of the cited pages; known at the end of the answer. */
  readonly cited: readonly number[];
}

export interface Turn {
  /**
   * The `client_message_id`: the same in every attempt of a message; new for a new answer. The id of a
   * click on a card is that of the card.
   */
  id: string;
  /** The first `id`, by which a service that stores the chat knows the message; only if `id` differs. */
  first?: string;
  /** When the message was written, in milliseconds since 1970; undefined in chats of early releases. */
  readonly at?: number;
  readonly question: string;
  answer: string;
  ending: "open" | Ending;
  /** The visitor's rating of the answer; undefined without a rating. */
  rating?: Rating;
  /** The name of the person who wrote the line, in a turn without a question. */
  readonly person?: string;
  /** Undefined if the service has no pages of the site: then the answer may link to any address. */
  sources?: Sources | undefined;
  /**
   * The visitor's pictures, as the service names them; an empty object for each one that was sent from
   * this page.
   */
  images?: readonly unknown[] | undefined;
  /** The service's events in this answer, for the features. */
  events?: unknown[] | undefined;
  /** Whether the service said that the site's pages do not answer the question. */
  isUnanswered?: boolean;
}

/** Whether the answer is complete, or was stopped by the visitor. */
export function isFinished(ending: Turn["ending"]): ending is "whole" | "stopped" {
  return ending === "whole" || ending === "stopped";
}

/** Whether the turn is the visitor's click on a card: its question begins with ✓ or ✗. */
export function isClick({ id }: Turn): boolean {
  return id.startsWith("approval-");
}
