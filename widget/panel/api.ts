/** Sends all requests of the panel. Only this tab stores the pass. */

import type { About, Contacts, Day, Insights, Key, SessionPage, Whole } from "./types.ts";

const KEPT = "kefu-panel-pass";

/** The service refuses the pass: it is missing, wrong or expired. */
export class ShutOut extends Error {}

export class Api {
  #pass = sessionStorage.getItem(KEPT) ?? "";

  get hasPass(): boolean {
    return this.#pass !== "";
  }

  /** Exchanges a ticket or the token for a pass. Only the pass is stored. */
  async enter(credential: string): Promise<void> {
    const answer = await this.#send("enter", "POST", credential);
    this.#pass = ((await answer.json()) as { pass: string }).pass;
    sessionStorage.setItem(KEPT, this.#pass);
  }

  leave(): void {
    this.#pass = "";
    sessionStorage.removeItem(KEPT);
  }

  about(): Promise<About> {
    return this.#get("about");
  }

  sessions(query: URLSearchParams): Promise<SessionPage> {
    return this.#get(`sessions?${query}`);
  }

  session(id: string, before?: number): Promise<Whole> {
    return this.#get(`sessions/${encodeURIComponent(id)}${before ? `?before=${before}` : ""}`);
  }

  async keys(): Promise<Key[]> {
    return (await this.#get<{ keys: Key[] }>("keys")).keys;
  }

  async days(since: string, until: string): Promise<Day[]> {
    return (await this.#get<{ days: Day[] }>(`days?since=${since}&until=${until}`)).days;
  }

  insights(since: string): Promise<Insights> {
    return this.#get(`insights?since=${since}`);
  }

  contacts(): Promise<Contacts> {
    return this.#get("contacts");
  }

  async remove(id: string): Promise<void> {
    await this.#send(`sessions/${encodeURIComponent(id)}`, "DELETE");
  }

  async exported(id: string, format: string): Promise<Blob> {
    const path = `sessions/${encodeURIComponent(id)}/export?format=${format}`;
    return (await this.#send(path)).blob();
  }

  async #get<T>(path: string): Promise<T> {
    return (await (await this.#send(path)).json()) as T;
  }

  async #send(path: string, method = "GET", bearer = this.#pass): Promise<Response> {
    const answer = await fetch(`admin/api/${path}`, {
      method,
      headers: { Authorization: `Bearer ${bearer}` },
      cache: "no-store",
      credentials: "omit",
    });
    if (answer.ok) return answer;
    const body = (await answer.json().catch(() => ({}))) as { error?: { message?: string } };
    const message = body.error?.message ?? `HTTP ${answer.status}`;
    if (answer.status === 401) {
      this.leave();
      throw new ShutOut(message);
    }
    throw new Error(message);
  }
}
