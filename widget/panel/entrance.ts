/** The sign-in. Log files need none, because they stay on this computer. */

import { el } from "./dom.ts";
import type { Store } from "./state/store.ts";
import { t } from "./texts.ts";

/**
 * `message`: why the last sign-in failed; "" if it did not. `hasProvider`: whether operators sign in
 * at the owner's OpenID provider.
 */
export function entrance(
  message: string,
  hasProvider: Store<boolean>,
  enter: (token: string) => void,
): HTMLElement {
  const provider = el("a", { className: "accent", href: "admin/api/oidc" }, t.signIn);
  hasProvider.follow((has) => {
    provider.hidden = !has;
  });
  const token = el("input", {
    type: "password",
    name: "token",
    autocomplete: "off",
    required: true,
  });
  const form = el(
    "form",
    { className: "entrance" },
    el("h2", {}, t.enterTitle),
    el("p", { className: "muted" }, t.enterHow),
    el("p", { className: "trouble", role: "alert" }, message),
    provider,
    el("label", {}, t.token, token),
    el("button", { type: "submit", className: "accent" }, t.enter),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    enter(token.value.trim());
  });
  return form;
}
