/** The operator of this tab: the name of their link, or one that they type, and their choices. */

import { Store } from "./store.ts";

const KEPT = "kefu-panel-operator";
const KEYS = "kefu-panel-keys";
const TRANSLATES = "kefu-panel-translate";
const LINE = "kefu-panel-lines-";

export interface Operator {
  /** Decides on the chats that are theirs. */
  readonly name: string;
  /** Whether the name is that of the operator's link, which the server takes. */
  readonly isNamed: boolean;
  /** Whether single letters are shortcuts. */
  readonly hasKeys: boolean;
  /** Whether sessions are translated. */
  readonly translates: boolean;
}

/** Only this tab stores the name and the choices. */
export function operatorOfTab(): Store<Operator> {
  const operator = new Store<Operator>({
    name: sessionStorage.getItem(KEPT) ?? "",
    isNamed: false,
    hasKeys: sessionStorage.getItem(KEYS) !== "off",
    translates: sessionStorage.getItem(TRANSLATES) === "on",
  });
  operator.listen(({ name, hasKeys, translates }) => {
    sessionStorage.setItem(KEPT, name);
    sessionStorage.setItem(KEYS, hasKeys ? "on" : "off");
    sessionStorage.setItem(TRANSLATES, translates ? "on" : "off");
  });
  return operator;
}

/** The text for a session that is not sent yet. A reload or a new sign-in does not lose it. */
export function unsent(id: string): string {
  return sessionStorage.getItem(LINE + id) ?? "";
}

export function keepUnsent(id: string, text: string): void {
  sessionStorage.setItem(LINE + id, text);
}
