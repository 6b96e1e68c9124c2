/** The open sign-ins to the panel. */

import type { SignIn } from "../types.ts";
import { Store } from "./store.ts";

export class SignIns {
  readonly state: Store<readonly SignIn[]>;
  readonly #end: (id: string) => Promise<void>;

  constructor(first: readonly SignIn[], end: (id: string) => Promise<void>) {
    this.state = new Store(first);
    this.#end = end;
  }

  async end(id: string): Promise<void> {
    await this.#end(id);
    this.state.set(this.state.get().filter((one) => one.id !== id));
  }
}
