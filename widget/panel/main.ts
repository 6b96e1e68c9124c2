/** The panel: the sign-in, the layout, and the links into it (#s=…, #insights, #requests, #keys). */

import { Api, nameByLink, ShutOut } from "./api.ts";
import { contactsView, type RequestActs } from "./contacts.ts";
import { conversation } from "./conversation.ts";
import { button, el } from "./dom.ts";
import { it } from "./insight-texts.ts";
import { insightsView, PERIOD, PERIODS, since } from "./insights.ts";
import { List } from "./list.ts";
import { readLog } from "./log.ts";
import { markFound } from "./marks.ts";
import { download } from "./save.ts";
import { keysView, storeLines } from "./sums.ts";
import { isChinese, t } from "./texts.ts";
import { keepTime } from "./times.ts";
import type { About, Whole } from "./types.ts";
import { Watch } from "./watch.ts";

const TICKET = "#ticket=";

const api = new Api();
const main = document.querySelector("main") as HTMLElement;
const nav = document.querySelector("nav") as HTMLElement;
const aside = el("aside", { "aria-label": t.sessions });
const content = el("div", { class: "content" });
const alertLine = el("p", { class: "trouble", role: "alert", hidden: true });
const file = el("input", { type: "file", accept: ".jsonl,.json,.txt", hidden: true });
const requests = el("a", { href: "#requests", class: "when-open", hidden: true }, t.requests);
const list = new List(api, failed);
const sessions = el("a", { href: "#", class: "when-open" }, t.sessions);
const watch = new Watch(api, (count) => {
  sessions.textContent = count ? `${t.sessions} (${count})` : t.sessions;
  void list.refresh();
});
const requestActs: RequestActs = {
  more: (cursor) => api.contacts(cursor),
  mark: (id, done) => api.markRequest(id, done),
  remove: async (id, wantsReceipt) => keep(await api.removeRequest(id, wantsReceipt), id),
  send: (id) => api.sendRequest(id),
  fail: failed,
};
let about: About | undefined;
/** The view to return to after the sign-in. */
let wanted = "";
let shown = 0;

/** Saves a receipt of a deletion, if there is one. */
function keep(receipt: Blob | undefined, id: string): void {
  if (receipt) download(receipt, `receipt-${id.slice(0, 8)}.json`);
}

function failed(error: unknown): void {
  if (error instanceof ShutOut) {
    locked();
    return;
  }
  alertLine.textContent = error instanceof Error ? error.message : String(error);
  alertLine.hidden = false;
}

/** Shows the latest requested view; results of earlier requests are dropped. */
async function show(make: () => Promise<HTMLElement>, focus = true): Promise<void> {
  const turn = ++shown;
  alertLine.hidden = true;
  try {
    const node = await make();
    if (turn !== shown) return;
    content.replaceChildren(node);
    if (focus) node.querySelector<HTMLElement>("h2[tabindex]")?.focus({ preventScroll: true });
  } catch (error) {
    if (turn === shown) failed(error);
  }
}

function route(): void {
  const hash = location.hash.slice(1);
  const id = new URLSearchParams(hash).get("s") ?? "";
  document.body.classList.toggle("one", hash !== "");
  const here = id || hash === "" ? "#" : `#${hash.split("=")[0]}`;
  for (const link of nav.querySelectorAll("a")) {
    if (link.getAttribute("href") === here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  list.mark(id);
  if (id) void show(() => opened(id)).then(atEnd);
  else if (hash === "requests")
    void show(async () => contactsView(await api.contacts(), requestActs));
  else if (hash === "keys") void show(async () => keysView(await api.keys()));
  else if (hash.startsWith("insights")) void show(() => insights(hash));
  else void show(async () => welcome());
}

/** Shows the newest lines of a chat that waits or is with a person, and the words of a search. */
function atEnd(): void {
  const talk = content.querySelector(".talk.live");
  if (talk && !list.search) talk.scrollIntoView();
  markFound(content, list.search);
}

function welcome(): HTMLElement {
  const isFilling = about?.store && about.store.level !== "ok";
  return el(
    "div",
    { class: "pick" },
    el("p", {}, about?.keeps_chats ? t.pick : t.noneKept),
    ...(isFilling ? storeLines(about) : []),
  );
}

/** The period is in the address: #insights=7. */
async function insights(hash: string): Promise<HTMLElement> {
  const wanted = Number(hash.split("=")[1]);
  const days = PERIODS.find((one) => one === wanted) ?? PERIOD;
  const [found, before, facts] = await Promise.all([
    api.insights(since(days)),
    api.days(since(2 * days), since(days + 1)),
    api.about(),
  ]);
  return insightsView(found, before, days, facts);
}

async function opened(id: string): Promise<HTMLElement> {
  return sessionView(await api.session(id));
}

function sessionView(kept: Whole): HTMLElement {
  const { id } = kept.session;
  const before = kept.before;
  return conversation(kept, {
    about,
    exported: (format) => api.exported(id, format),
    talk: {
      read: (after) => api.talk(id, after),
      attend: (state, name, from) => api.attend(id, state, name, from),
      say: (lineId, name, text) => api.say(id, lineId, name, text),
    },
    async remove(wantsReceipt) {
      try {
        keep(await api.remove(id, wantsReceipt), id);
        location.hash = "";
        list.load();
      } catch (error) {
        failed(error);
      }
    },
    ...(before
      ? {
          earlier: () =>
            show(async () => {
              const older = await api.session(id, before);
              const messages = [...older.messages, ...kept.messages];
              return sessionView({ ...older, messages, calls: [...older.calls, ...kept.calls] });
            }),
        }
      : {}),
  });
}

async function openFile(chosen: File | undefined): Promise<void> {
  if (!chosen) return;
  const kept = readLog(await chosen.text());
  if (!kept) return failed(new Error(t.badLog));
  // Changes the address, so that a click on the session shown before leads back to it.
  history.replaceState(null, "", "#log");
  list.mark("");
  document.body.classList.add("one");
  void show(async () => conversation(kept, { about: undefined }));
}

/**
 * Shows the sign-in. Log files need none, because they stay on this computer.
 */
function locked(message = ""): void {
  const token = el("input", {
    type: "password",
    name: "token",
    autocomplete: "off",
    required: true,
  });
  const form = el(
    "form",
    { class: "entrance" },
    el("h2", {}, t.enterTitle),
    el("p", { class: "muted" }, t.enterHow),
    el("p", { class: "trouble", role: "alert", hidden: !message }, message),
    el("label", {}, t.token, token),
    el("button", { type: "submit", class: "accent" }, t.enter),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void enter(token.value.trim());
  });
  wanted = location.hash.startsWith(TICKET) ? "" : location.hash;
  document.body.classList.add("locked");
  main.replaceChildren(form);
  token.focus();
}

async function enter(credential: string): Promise<void> {
  try {
    await api.enter(credential);
    if (wanted) history.replaceState(null, "", wanted);
    await start();
  } catch (error) {
    const known = error instanceof ShutOut ? t.enterFailed : "";
    locked(known || (error instanceof Error ? error.message : String(error)));
  }
}

async function start(): Promise<void> {
  about = await api.about();
  requests.hidden = !about.has_contact_form;
  nameByLink(about.operator);
  document.body.classList.remove("locked");
  main.replaceChildren(aside, el("div", { class: "pane" }, alertLine, content));
  if (about.keeps_chats) {
    list.offer(about.presets);
    aside.replaceChildren(watch.node, list.node);
    list.load();
  }
  route();
}

function frame(): void {
  document.title = t.title;
  document.documentElement.lang = isChinese ? "zh-CN" : "en";
  const choose = button({ class: "quiet" }, () => file.click(), t.openLog);
  const leave = button(
    { class: "quiet when-open" },
    () => {
      api.leave();
      locked();
    },
    t.leave,
  );
  nav.setAttribute("aria-label", t.title);
  nav.append(
    sessions,
    requests,
    el("a", { href: "#insights", class: "when-open" }, it.insights),
    el("a", { href: "#keys", class: "when-open" }, t.keys),
    choose,
    watch.control,
    leave,
    file,
  );
  file.addEventListener("change", () => {
    void logAnywhere(file.files?.[0]);
    file.value = "";
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    void logAnywhere(event.dataTransfer?.files[0]);
  });
}

async function logAnywhere(chosen: File | undefined): Promise<void> {
  if (!content.isConnected) main.replaceChildren(el("div", { class: "pane" }, alertLine, content));
  await openFile(chosen);
}

async function begin(): Promise<void> {
  frame();
  keepTime();
  if (location.hash.startsWith(TICKET)) return withTicket();
  if (!api.hasPass) return locked();
  try {
    await start();
  } catch (error) {
    if (error instanceof ShutOut) locked();
    else locked(error instanceof Error ? error.message : String(error));
  }
}

addEventListener("hashchange", () => {
  if (location.hash.startsWith(TICKET)) void withTicket();
  else if (!document.body.classList.contains("locked")) route();
});

/** Removes the ticket from the address first, so that it does not stay in the browser's history. */
async function withTicket(): Promise<void> {
  const ticket = location.hash.slice(TICKET.length);
  history.replaceState(null, "", location.pathname);
  await enter(ticket);
}

void begin();
