/**
 * The talk with a person, which few visitors have. It asks the service for new lines while the panel is
 * open, and shows who answers.
 */

import { atEnd } from "../../answer/at-end.ts";
import type { Feature, Kit } from "../../answer/feature.ts";
import { OPENS } from "../../answer/opening.ts";
import { textsOf } from "../../dictionaries.ts";
import { lineOf } from "../../open/line.ts";
import { own } from "../../open/own.ts";
import type { Turn } from "../../open/turn.ts";
import { adopt } from "../../open/view/dom.ts";
import { isOn } from "../../settings.ts";
import { ENGLISH } from "./english.ts";
import { soundOf } from "./sound.ts";
import stylesheet from "./talk.css";
import { faceOf, Head, notice } from "./view.ts";

/** With the request's duration, a new line is shown after at most 5 seconds. */
const POLL_MS = 3_500;
/** After this time without a message, the service is asked less often. */
const ACTIVE_MS = 3_600_000;
const IDLE_POLL_MS = 20_000;
/** The longest pause after failures; each pause is twice the previous pause. */
const LONGEST_PAUSE_MS = 60_000;

/** Milliseconds after an answer in which the widget checks for a person in the chat. */
const WATCH_MS = 600_000;
/** The pause between two requests, as a part of the time since the answer. */
const WATCH_PAUSE = 1 / 8;

const ID = /^person-(\d+)$/;

export default async function talk(kit: Kit): Promise<Feature> {
  const { root, texts, script, speak, settings, chat } = kit;
  adopt(root, stylesheet);
  const talkTexts = await textsOf(texts.lang, script?.src, "talk-");
  const words = { ...ENGLISH, opens: OPENS, ...texts, ...talkTexts };
  const panel = root?.querySelector<HTMLElement>(".panel");
  const log = root?.querySelector<HTMLElement>(".log");
  const head = new Head(root, words, texts.disclaimer);
  const sound = soundOf(root?.ownerDocument.defaultView ?? null, settings, words.sound);
  let state: unknown = "";
  /** The name of the person who answered last. */
  let person = "";
  let newest = 0;
  let failures = 0;
  let activeAt = 0;
  /** When the last answer ended, if a person may take over the chat. */
  let answeredAt = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isAsking = false;
  let askedAt = 0;
  /** The lines that came while the panel was closed or the tab hidden, and the mark of their number. */
  let unseen = 0;
  let mark = "";
  /** The notice that a person has come, until their first line is shown. */
  let arrival: HTMLElement | undefined;
  /** Changes when the chat does: answers to requests of the earlier chat are ignored. */
  let round = 0;

  const isTalking = (): boolean => state === "waiting" || state === "person";
  const isWatching = (): boolean => Date.now() - answeredAt < WATCH_MS;
  /** Whether the service is asked for lines. */
  const isDue = (): boolean => isTalking() || isWatching();
  const isSeen = (): boolean => !panel?.hidden && !document.hidden;

  const schedule = (): void => {
    clearTimeout(timer);
    if (!isDue() || !panel?.isConnected) return;
    timer = setTimeout(
      poll,
      failures ? Math.min(POLL_MS * 2 ** failures, LONGEST_PAUSE_MS) : pause(),
    );
  };

  const pause = (): number => {
    const least = isSeen() ? POLL_MS : IDLE_POLL_MS;
    if (!isTalking()) return Math.max(least, (Date.now() - answeredAt) * WATCH_PAUSE);
    return Date.now() - activeAt < ACTIVE_MS ? least : IDLE_POLL_MS;
  };

  const enter = (next: unknown, name: string): void => {
    const isOther = next === "person" && name !== person;
    if (next === state && !isOther) return;
    person = name;
    if (next === "person") activeAt = Date.now();
    // After a change of page, the visitor knows the person from the lines above.
    if (log && next === "person" && (state !== "" || !newest)) {
      arrival = notice(log, words.joined, name);
    }
    if (log && state === "person" && next === "bot") notice(log, words.left, name);
    if (log && state === "person" && next === "closed") notice(log, words.ended, name);
    state = next;
    head.show(next, name);
    if (next === "waiting") void askHours();
    if (isTalking()) sound.offer(root?.querySelector("[role=menu]"));
    chat()?.waits(isTalking());
  };

  /** Says to a visitor who waits outside the opening hours when a person answers again. */
  const askHours = async (): Promise<void> => {
    const response = await chat()?.request("/contact");
    const form = response?.ok ? await response.json().catch(() => undefined) : undefined;
    head.opensAt = own(form, "opens_at");
    if (!head.opensAt) return;
    Object.assign(words, await textsOf(texts.lang, script?.src, "contact-"));
    head.tell(state, person, false);
  };

  /** Counts the lines that nobody has seen in the title of the page, as its tab shows it. */
  const entitle = (lines: number): void => {
    unseen = lines;
    const { title } = document;
    const own = title.startsWith(mark) ? title.slice(mark.length) : title;
    mark = lines ? `(${lines}) ` : "";
    if (mark + own !== title) document.title = mark + own;
  };

  /** Labels the launcher after a message of `name` to a closed panel. */
  const missed = (name: string): void => {
    const launcher = root?.querySelector<HTMLElement>(".launcher");
    if (!launcher || !panel?.hidden) return;
    launcher.ariaLabel = `${texts.open}: ${words.wrote.replace("{name}", name)}`;
  };

  /** Shows the new lines. The next request repeats events that an answer in progress delays. */
  const take = (lines: unknown, questions: unknown): void => {
    for (const line of list(lines)) {
      const [id, person] = ["id", "operator"].map((name) => own(line, name));
      const answer = lineOf(line);
      if (typeof id !== "number" || id <= newest) continue;
      if (typeof answer !== "string" || typeof person !== "string") continue;
      const at = Date.now();
      const turn: Turn = { id: `person-${id}`, at, question: "", answer, ending: "whole", person };
      // The visitor may have written meanwhile: the line was there before.
      const newer = list(questions)
        .filter((one) => Number(own(one, "id")) > id)
        .map((one) => own(one, "client_message_id"));
      // A message that nobody has got stays the last, which alone can be sent again.
      const last = chat()?.turns().at(-1);
      if (last?.ending === "unreachable") newer.push(last.first ?? last.id);
      if (!chat()?.said(turn, newer)) return;
      newest = id;
      activeAt = Date.now();
      if (!isSeen()) {
        entitle(unseen + 1);
        sound.ring();
      }
      missed(person);
      speak(`${person}: ${answer}`);
    }
  };

  async function poll(): Promise<void> {
    clearTimeout(timer);
    if (isAsking) return;
    isAsking = true;
    askedAt = Date.now();
    const asked = round;
    const response = await chat()?.request(
      `/person?seen=${isSeen()}${newest ? `&after=${newest}` : ""}`,
    );
    const body = response?.ok ? await response.json().catch(() => undefined) : undefined;
    isAsking = false;
    if (asked !== round) return;
    const next = own(body, "state");
    if (next) {
      failures = 0;
      const name = `${own(body, "operator") ?? ""}`;
      if (next === "person") enter(next, name);
      take(own(body, "messages"), own(body, "questions"));
      enter(next, name);
      head.tell(next, name, own(body, "writing") === true);
      arrival = undefined;
    } else failures += 1;
    schedule();
  }

  const woken = (): void => {
    if (!panel?.isConnected) document.removeEventListener("visibilitychange", woken);
    // The service learns that the lines which came meanwhile are seen now.
    else if (!isSeen() || !(isDue() || unseen)) schedule();
    else void poll();
    if (isSeen()) entitle(0);
  };
  document.addEventListener("visibilitychange", woken);
  if (panel) new MutationObserver(woken).observe(panel, { attributeFilter: ["hidden"] });
  // Who begins to write learns of a person before the message is sent, also after the watch.
  panel?.addEventListener("input", () => {
    if (answeredAt && !isTalking() && Date.now() - askedAt > IDLE_POLL_MS) void poll();
  });
  // The list is cleared for a new conversation and for another user.
  if (log) {
    new MutationObserver(() => {
      if (log.querySelector(".turn")) return;
      newest = answeredAt = 0;
      round += 1;
      enter("bot", "");
    }).observe(log, { childList: true });
  }

  /** The visitor has asked for a person, or has written to a person. */
  const start = (): void => {
    activeAt = Date.now();
    // Called after the chat has announced the end of an answer.
    if (state === "person") queueMicrotask(() => speak(words.delivered));
    void poll();
  };
  /** A person may take over the chat now. Only sites with a contact form have persons who do. */
  const watch = (): void => {
    if (!isOn(settings.contact)) return;
    answeredAt = Date.now();
    schedule();
  };
  /** Shows the writer of a line; `row` is the row below the line. */
  const sign = (row: HTMLElement, id: string, person: string): void => {
    newest = Math.max(newest, Number(ID.exec(id)?.[1] ?? 0));
    const above = arrival;
    arrival = undefined;
    // By then the row is below the line.
    queueMicrotask(() =>
      atEnd(row.closest(".log"), () => {
        if (above) row.parentElement?.before(above);
        label(row.parentElement, person);
      }),
    );
  };
  return {
    kept: ({ isWaiting, writer }) => {
      if (isWaiting) start();
      else watch();
      if (writer) missed(writer);
    },
    answered: (row, { id, person, answer, ending }) => {
      if (person) sign(row, id, person);
      // Without a chat, the turn is from an earlier page.
      else if (chat() && answer) watch();
      else if (chat() && ending === "whole") start();
    },
    requested: start,
  };
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Adds the name to a line. A person's next line needs it only for screen readers. */
function label(turn: Element | null, person: string): void {
  if (!turn || turn.querySelector(".by")) return;
  const before = turn.previousElementSibling?.querySelector(".by");
  const by = faceOf(person);
  by.classList.toggle("spoken", before?.textContent === by.textContent);
  turn.querySelector(".answer")?.before(by);
}
