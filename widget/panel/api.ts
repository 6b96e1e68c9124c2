/** Sends all requests of the panel. Only this tab stores the pass. */

import { Missing } from "./state/trouble.ts";
import { t } from "./texts.ts";
import type {
  About,
  Attendance,
  Contacts,
  Day,
  Draft,
  Insights,
  Key,
  Line,
  Mark,
  News,
  Queue,
  SessionPage,
  SignIn,
  Whole,
  WrittenAnswer,
} from "./types.ts";

const KEPT = "kefu-panel-pass";

/** The service refuses the pass: the pass is missing, wrong or expired. */
export class ShutOut extends Error {}

export class Api {
  #pass = sessionStorage.getItem(KEPT) ?? "";

  get hasPass(): boolean {
    return this.#pass !== "";
  }

  /** Exchanges a ticket or the token for a pass. Only the pass is stored. */
  async enter(credential: string): Promise<void> {
    const { pass } = await this.#json<{ pass: string }>("enter", "POST", undefined, credential);
    this.#pass = pass;
    sessionStorage.setItem(KEPT, this.#pass);
  }

  /** Whether operators sign in at the owner's OpenID provider. */
  async hasProvider(): Promise<boolean> {
    return (await this.#json<{ oidc: boolean }>("enter")).oidc;
  }

  /** Ends the sign-in, also on the server if it can be reached. */
  leave(): void {
    void this.#send("enter", "DELETE").catch(() => {});
    this.#forget();
  }

  #forget(): void {
    this.#pass = "";
    sessionStorage.removeItem(KEPT);
  }

  about(): Promise<About> {
    return this.#json("about");
  }

  sessions(query: URLSearchParams): Promise<SessionPage> {
    return this.#json(`sessions?${query}`);
  }

  queue(): Promise<Queue> {
    return this.#json("queue");
  }

  session(id: string, before?: number): Promise<Whole> {
    return this.#json(`sessions/${encodeURIComponent(id)}${before ? `?before=${before}` : ""}`);
  }

  async keys(): Promise<Key[]> {
    return (await this.#json<{ keys: Key[] }>("keys")).keys;
  }

  async days(since: string, until: string): Promise<Day[]> {
    return (await this.#json<{ days: Day[] }>(`days?since=${since}&until=${until}`)).days;
  }

  insights(since: string): Promise<Insights> {
    return this.#json(`insights?since=${since}`);
  }

  contacts(cursor = ""): Promise<Contacts> {
    return this.#json(`contacts${cursor && `?cursor=${encodeURIComponent(cursor)}`}`);
  }

  async markRequest(id: string, done: boolean): Promise<void> {
    await this.#send(`contacts/${encodeURIComponent(id)}/done`, "POST", { done });
  }

  async sendRequest(id: string): Promise<void> {
    await this.#send(`contacts/${encodeURIComponent(id)}/send`, "POST");
  }

  removeRequest(id: string, wantsReceipt: boolean): Promise<Blob | undefined> {
    return this.#remove(`contacts/${encodeURIComponent(id)}`, wantsReceipt);
  }

  /** The attendance of a session, and its messages with a greater id than `after`. */
  talk(id: string, after: number): Promise<News> {
    return this.#json(
      `sessions/${encodeURIComponent(id)}/talk${after > 0 ? `?after=${after}` : ""}`,
    );
  }

  /** `takenFrom`: the operator who has the session, from whom another operator takes it over. */
  attend(id: string, state: string, operator: string, takenFrom = ""): Promise<Attendance> {
    const path = `sessions/${encodeURIComponent(id)}/state`;
    return this.#json(path, "POST", { state, operator, taken_from: takenFrom });
  }

  async writing(id: string, operator: string): Promise<void> {
    const path = `sessions/${encodeURIComponent(id)}/writing`;
    await this.#send(path, "POST", { operator });
  }

  /**
   * `lineId`: a line that is sent again with the same id is stored once. Returns why the line was not
   * translated, if it should have been; otherwise "".
   */
  async say(id: string, lineId: string, operator: string, line: Line): Promise<string> {
    const body = { client_message_id: lineId, operator, ...line };
    const path = `sessions/${encodeURIComponent(id)}/lines`;
    return (await this.#json<{ trouble: string }>(path, "POST", body)).trouble;
  }

  /** A text of a session in the language of the browser. */
  async translation(id: string, text: string): Promise<string> {
    const path = `sessions/${encodeURIComponent(id)}/translation`;
    const { language } = navigator;
    return (await this.#json<{ text: string }>(path, "POST", { text, language })).text;
  }

  async signIns(): Promise<SignIn[]> {
    return (await this.#json<{ passes: SignIn[] }>("passes")).passes;
  }

  async endSignIn(id: string): Promise<void> {
    await this.#send(`passes/${encodeURIComponent(id)}`, "DELETE");
  }

  /** The answers that were made from a chat. */
  async answers(sessionId: string): Promise<WrittenAnswer[]> {
    const path = `answers?session_id=${encodeURIComponent(sessionId)}`;
    return (await this.#json<{ answers: WrittenAnswer[] }>(path)).answers;
  }

  draft(sessionId: string): Promise<Draft & { marks: Mark[] }> {
    return this.#json(`answers/draft?session_id=${encodeURIComponent(sessionId)}`);
  }

  async marks(draft: Draft): Promise<Mark[]> {
    return (await this.#json<{ marks: Mark[] }>("answers/marks", "POST", draft)).marks;
  }

  /** An answer that is sent again with the same id is stored once. */
  publish(id: string, draft: Draft, reviewed: boolean): Promise<WrittenAnswer> {
    return this.#json(`answers/${id}`, "PUT", { ...draft, reviewed });
  }

  async withdraw(id: string): Promise<void> {
    await this.#send(`answers/${encodeURIComponent(id)}`, "DELETE");
  }

  remove(id: string, wantsReceipt: boolean): Promise<Blob | undefined> {
    return this.#remove(`sessions/${encodeURIComponent(id)}`, wantsReceipt);
  }

  async #remove(path: string, wantsReceipt: boolean): Promise<Blob | undefined> {
    const answer = await this.#send(wantsReceipt ? `${path}?receipt=true` : path, "DELETE");
    return wantsReceipt ? answer.blob() : undefined;
  }

  async exported(id: string, format: string): Promise<Blob> {
    const path = `sessions/${encodeURIComponent(id)}/export?format=${format}`;
    return (await this.#send(path)).blob();
  }

  async image(sessionId: string, id: string): Promise<Blob> {
    const path = `sessions/${encodeURIComponent(sessionId)}/images/${encodeURIComponent(id)}`;
    return (await this.#send(path)).blob();
  }

  async #json<T>(path: string, method?: string, body?: object, bearer?: string): Promise<T> {
    return (await (await this.#send(path, method, body, bearer)).json()) as T;
  }

  async #send(path: string, method = "GET", body?: object, bearer = this.#pass): Promise<Response> {
    const answer = await fetch(`admin/api/${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${bearer}`,
        ...(body && { "Content-Type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
      cache: "no-store",
      credentials: "omit",
    }).catch(() => {
      // The browser's own words are "Failed to fetch".
      throw new Error(t.unreachable);
    });
    if (answer.ok) return answer;
    const refusal = (await answer.json().catch(() => ({}))) as {
      error?: { code?: string; message?: string };
    };
    const { code = "", message = `HTTP ${answer.status}` } = refusal.error ?? {};
    const reason = t.reasons[code] ?? message;
    if (answer.status === 401) {
      // The page begins again with the sign-in, and no view goes on asking.
      if (this.hasPass) location.reload();
      this.#forget();
      throw new ShutOut(reason);
    }
    throw answer.status === 404 ? new Missing(reason) : new Error(reason);
  }
}
