/** The requests of visitors for a person, page by page. */

import type { ContactRequest, Contacts } from "../types.ts";
import { Store } from "./store.ts";

export interface RequestsApi {
  contacts(cursor?: string): Promise<Contacts>;
  markRequest(id: string, done: boolean): Promise<void>;
  sendRequest(id: string): Promise<void>;
}

export class Requests {
  readonly state: Store<Contacts>;
  readonly #api: RequestsApi;

  constructor(first: Contacts, api: RequestsApi) {
    this.state = new Store(first);
    this.#api = api;
  }

  async more(): Promise<void> {
    const before = this.state.get();
    const page = await this.#api.contacts(before.cursor ?? "");
    this.state.set({ ...page, requests: [...before.requests, ...page.requests] });
  }

  async mark(id: string, done: boolean): Promise<void> {
    await this.#api.markRequest(id, done);
    this.#change(id, { done_at: done ? Date.now() / 1000 : null });
  }

  async send(id: string): Promise<void> {
    await this.#api.sendRequest(id);
    this.#change(id, { delivered_at: null, attempts: 0 });
  }

  /** Sends all requests again whose delivery failed. */
  static async resend(api: RequestsApi): Promise<void> {
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: Contacts = await api.contacts(cursor);
      const failed = page.requests.filter(
        (one) => one.delivered_at === null && one.done_at === null && one.attempts > 0,
      );
      for (const { id } of failed) await api.sendRequest(id);
      cursor = page.cursor;
    }
  }

  /** Takes a request that was deleted off the list. */
  drop(id: string): void {
    const { requests } = this.state.get();
    this.state.patch({ requests: requests.filter((one) => one.id !== id) });
  }

  #change(id: string, fields: Partial<ContactRequest>): void {
    const { requests } = this.state.get();
    const changed = requests.map((one) => (one.id === id ? { ...one, ...fields } : one));
    this.state.patch({ requests: changed });
  }
}
