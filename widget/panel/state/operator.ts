/** The operator of this tab: the name of their link, or one that they type. */

import { Store } from "./store.ts";

const KEPT = "kefu-panel-operator";

export interface Operator {
  /** Decides on the chats that are theirs. */
  readonly name: string;
  /** Whether the name is that of the operator's link, which the server takes. */
  readonly isNamed: boolean;
}

/** Only this tab stores the name. */
export function operatorOfTab(): Store<Operator> {
  const operator = new Store<Operator>({
    name: sessionStorage.getItem(KEPT) ?? "",
    isNamed: false,
  });
  operator.listen(({ name }) => sessionStorage.setItem(KEPT, name));
  return operator;
}
