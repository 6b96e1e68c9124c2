/** The bar above all views: the links to them, and what an operator does in any of them. */

import { button, el } from "./dom.ts";
import { it } from "./insight-texts.ts";
import type { Waiting } from "./state/queue.ts";
import type { Store } from "./state/store.ts";
import { isChinese, t } from "./texts.ts";
import type { About } from "./types.ts";

export interface FrameActs {
  /** Shows a log file of this computer. */
  read(file: File | undefined): void;
  leave(): void;
}

/** Fills the navigation. `controls`: the switch of notifications, and the help for the keyboard. */
export function frame(
  nav: HTMLElement,
  waiting: Store<Waiting>,
  about: Store<About | undefined>,
  controls: readonly HTMLElement[],
  acts: FrameActs,
): void {
  document.documentElement.lang = isChinese ? "zh-CN" : "en";
  const file = el("input", { type: "file", accept: ".jsonl,.json,.txt", hidden: true });
  const link = (href: string, text: string) => el("a", { href, className: "when-open" }, text);
  const sessions = link("#", t.sessions);
  const requests = link("#requests", t.requests);
  const signIns = link("#sign-ins", t.signIns);
  nav.ariaLabel = t.title;
  nav.append(
    sessions,
    requests,
    link("#insights", it.insights),
    link("#keys", t.keys),
    signIns,
    button({ className: "quiet log" }, () => file.click(), t.openLog),
    ...controls,
    button({ className: "quiet when-open" }, () => acts.leave(), t.leave),
    file,
  );
  about.follow((facts) => {
    requests.hidden = !facts?.has_contact_form;
    signIns.hidden = !facts?.keeps_chats || facts.site !== "";
  });
  waiting.follow(({ count }) => {
    document.title = count ? `(${count}) ${t.title}` : t.title;
    sessions.textContent = count ? `${t.sessions} (${count})` : t.sessions;
  });
  file.addEventListener("change", () => {
    acts.read(file.files?.[0]);
    file.value = "";
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    acts.read(event.dataTransfer?.files[0]);
  });
}

/** Marks the link of the view that is shown. */
export function markLink(nav: HTMLElement, href: string): void {
  for (const link of nav.querySelectorAll("a")) {
    link.ariaCurrent = link.getAttribute("href") === href ? "page" : null;
  }
}
