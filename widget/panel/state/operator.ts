/** The operator of this tab: the name of their link, or one that they type. */

import { Store } from "./store.ts";

const KEPT = "kefu-panel-operator";
const KEYS = "kefu-panel-keys";

export interface Operator {
  /** Decides on the chats that are theirs. */
  readonly name: string;
  /** Whether the name is that of the operator's link, which the server takes. */
  readonly isNamed: boolean;
  /** Whether single letters are shortcuts. */
  readonly hasKeys: boolean;
}

/** Only this tab stores the name and the choice of keys. */
export function operatorOfTab(): Store<Operator> {
  const operator = new Store<Operator>({
    name: sessionStorage.getItem(KEPT) ?? "",
    isNamed: false,
    hasKeys: sessionStorage.getItem(KEYS) !== "off",
  });
  operator.listen(({ name, hasKeys }) => {
    sessionStorage.setItem(KEPT, name);
    sessionStorage.setItem(KEYS, hasKeys ? "on" : "off");
  });
  return operator;
}
