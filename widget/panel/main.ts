/** The panel: the sign-in, and the views with their states and requests. */

import { Api, ShutOut } from "./api.ts";
import { bell } from "./bell.ts";
import { conversation } from "./conversation.ts";
import { el } from "./dom.ts";
import { entrance } from "./entrance.ts";
import { frame, markLink } from "./frame.ts";
import { listView, stepIn } from "./list.ts";
import { readLog } from "./log.ts";
import { markFound } from "./marks.ts";
import {
  insightsPage,
  isReader,
  type Made,
  requestsPage,
  SessionPage,
  type Surroundings,
  signInsPage,
} from "./pages.ts";
import { shortcuts } from "./shortcuts.ts";
import { Inbox } from "./state/inbox.ts";
import { operatorOfTab } from "./state/operator.ts";
import { Watch } from "./state/queue.ts";
import { Requests } from "./state/requests.ts";
import { Store } from "./state/store.ts";
import { reasonOf } from "./state/trouble.ts";
import { keysView, storeLines, troubleLine } from "./sums.ts";
import { t } from "./texts.ts";
import { keepTime } from "./times.ts";
import type { About } from "./types.ts";

const TICKET = "#ticket=";
const REFUSED = "#refused=";

const api = new Api();
const operator = operatorOfTab();
const main = document.querySelector("main") as HTMLElement;
const nav = document.querySelector("nav") as HTMLElement;
const aside = el("aside", { ariaLabel: t.sessions });
const content = el("div", { className: "content" });
const alertLine = el("p", { className: "trouble", role: "alert" });
const pane = el("div", { className: "pane" }, alertLine, content);
/** The id of the session that is open; "" for none. */
const current = new Store("");
const about = new Store<About | undefined>(undefined);
const hasProvider = new Store(false);
const inbox = new Inbox((query) => api.sessions(query), isListed, failed);
const watch = new Watch({
  name: () => operator.get().name,
  isSeen,
  ask: () => (isLocked() ? undefined : api.queue()),
});
const surroundings: Surroundings = {
  api,
  operator,
  about,
  attempt,
  show,
  attended: () => void inbox.refresh(),
  removed: () => {
    location.hash = "";
    inbox.load();
  },
};
const session = new SessionPage(surroundings);
/** The view to return to after the sign-in. */
let wanted = "";
/** Counts the views: results of earlier requests are dropped. */
let shown = 0;
/** Ends with the sign-in, or with the page for it. What it shows is made again by the next one. */
let signIn = new AbortController();

function isLocked(): boolean {
  return document.body.classList.contains("locked");
}

function isListed(): boolean {
  return !document.hidden && !isLocked() && aside.isConnected;
}

function isSeen(id: string): boolean {
  return !document.hidden && current.get() === id;
}

function open(id: string): void {
  location.hash = `s=${encodeURIComponent(id)}`;
}

/** Returns from a chat or another view to the list. */
function back(): void {
  const link = aside.querySelector<HTMLElement>(".rows [aria-current]");
  location.hash = "";
  document.body.classList.remove("one");
  (link ?? aside.querySelector<HTMLElement>(".rows a"))?.focus();
}

function failed(error: unknown): void {
  alertLine.textContent = reasonOf(error);
}

/** Does what an operator asked for, and shows why it failed. Returns whether it succeeded. */
async function attempt(work: () => Promise<void>): Promise<boolean> {
  alertLine.textContent = "";
  try {
    await work();
    return true;
  } catch (error) {
    failed(error);
    return false;
  }
}

/** Shows what `make` loads, unless another view was opened meanwhile. */
async function show(make: () => Made | Promise<Made>): Promise<void> {
  shown += 1;
  const turn = shown;
  alertLine.textContent = "";
  try {
    const made = await make();
    if (turn !== shown) return;
    const node = typeof made === "function" ? made() : made;
    content.replaceChildren(node);
    node.querySelector<HTMLElement>("h2[tabindex]")?.focus({ preventScroll: true });
  } catch (error) {
    if (turn === shown) failed(error);
  }
}

function route(): void {
  const hash = location.hash.slice(1);
  const id = new URLSearchParams(hash).get("s") ?? "";
  document.body.classList.toggle("one", hash !== "");
  markLink(nav, id || hash === "" ? "#" : `#${hash.split("=")[0]}`);
  current.set(id);
  session.close();
  // Until the next view is there, nothing of the one before can be written in or clicked.
  content.replaceChildren();
  if (id) void show(() => session.open(id)).then(atEnd);
  else if (hash === "requests") void show(() => requestsPage(surroundings));
  else if (hash === "sign-ins") void show(() => signInsPage(surroundings));
  else if (hash === "keys") void show(async () => keysView(await api.keys()));
  else if (hash.startsWith("insights")) void show(() => insightsPage(surroundings, hash));
  else void show(welcome);
}

/** Shows the newest lines of a chat that waits or is with a person, and the words of a search. */
function atEnd(): void {
  const isLive = content.querySelector(".talk.live");
  if (isLive && !inbox.search) pane.scrollTo(0, pane.scrollHeight);
  markFound(content, inbox.search);
}

function welcome(): HTMLElement {
  const facts = about.get();
  const isFilling = facts?.store && facts.store.level !== "ok";
  return el(
    "div",
    { className: "pick" },
    el("p", {}, facts?.keeps_chats ? t.pick : t.noneKept),
    ...(isFilling ? storeLines(facts) : []),
  );
}

async function openFile(chosen: File | undefined): Promise<void> {
  if (!chosen) return;
  if (!pane.isConnected) main.replaceChildren(pane);
  const kept = readLog(await chosen.text());
  if (!kept) return failed(new Error(t.badLog));
  // Changes the address, so that a click on the session shown before leads back to it.
  history.replaceState(null, "", "#log");
  current.set("");
  session.close();
  document.body.classList.add("one");
  void show(() => conversation(kept, { about: undefined }));
}

function nextSignIn(): AbortSignal {
  signIn.abort();
  signIn = new AbortController();
  return signIn.signal;
}

function locked(message = ""): void {
  wanted = location.hash.startsWith(TICKET) ? "" : location.hash;
  document.body.classList.add("locked");
  session.close();
  // Who passes by the screen learns nothing from the title of the tab.
  watch.state.patch({ count: "", fresh: [] });
  const provider = hasProvider.until(nextSignIn());
  main.replaceChildren(entrance(message, provider, (token) => void enter(token)));
  // Without an answer, the link of an operator and the token are left.
  void api
    .hasProvider()
    .then((has) => hasProvider.set(has))
    .catch(() => {});
  main.querySelector("input")?.focus();
}

async function enter(credential: string): Promise<void> {
  try {
    await api.enter(credential);
    if (wanted) history.replaceState(null, "", wanted);
    await start();
  } catch (error) {
    locked(error instanceof ShutOut ? t.enterFailed : reasonOf(error));
  }
}

async function start(): Promise<void> {
  const facts = await api.about();
  about.set(facts);
  const { name } = operator.get();
  operator.patch({ name: facts.operator || name, isNamed: facts.operator !== "" });
  document.body.classList.remove("locked");
  main.replaceChildren(aside, pane);
  const end = nextSignIn();
  if (facts.keeps_chats) {
    aside.replaceChildren(trouble(end), list(facts.presets, end));
    inbox.load();
  }
  route();
}

function trouble(end: AbortSignal): HTMLElement {
  const again = () => void attempt(() => Requests.resend(api));
  return troubleLine(watch.state.until(end), isReader(about) ? undefined : again);
}

function list(presets: readonly string[], end: AbortSignal): HTMLElement {
  return listView(inbox.state.until(end), watch.state.until(end), current.until(end), presets, {
    load: (query) => inbox.load(query),
    more: () => void inbox.more(),
    open,
  });
}

function leave(): void {
  api.leave();
  locked();
}

async function begin(): Promise<void> {
  const read = (file: File | undefined) => void openFile(file);
  const keys = shortcuts(operator, { step: (by) => stepIn(aside, by), back });
  const controls = [bell(watch.state, { isSeen, open }), ...keys];
  frame(nav, watch.state, about, controls, { read, leave });
  watch.state.listen(({ hasChanged, ids }) => {
    if (hasChanged && isListed()) void inbox.refresh();
    session.watch(ids);
  });
  inbox.state.listen(({ rows }) => session.listed(rows));
  keepTime();
  if (location.hash.startsWith(TICKET)) return withTicket();
  const refusal = takenRefusal();
  if (!api.hasPass) return locked(refusal);
  try {
    await start();
  } catch (error) {
    locked(error instanceof ShutOut ? "" : reasonOf(error));
  }
}

addEventListener("hashchange", () => {
  if (location.hash.startsWith(TICKET)) void withTicket();
  else if (!isLocked()) route();
});

// A session that could not be loaded is loaded again by the same link, which changes no address.
aside.addEventListener("click", ({ target }) => {
  const link = (target as Element).closest("a");
  if (link?.hash === location.hash && !content.childElementCount) route();
});

/** Why the sign-in at a provider was refused, which is removed from the address; "" if it was not. */
function takenRefusal(): string {
  if (!location.hash.startsWith(REFUSED)) return "";
  const code = location.hash.slice(REFUSED.length);
  history.replaceState(null, "", location.pathname);
  return t.refused[code] ?? t.refusedElse;
}

/** Removes the ticket from the address first, so that it does not stay in the browser's history. */
async function withTicket(): Promise<void> {
  const ticket = location.hash.slice(TICKET.length);
  history.replaceState(null, "", location.pathname);
  await enter(ticket);
}

void begin();
