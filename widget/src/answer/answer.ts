/**
 * The file for answers, which the chat fetches when it is opened: Markdown, the buttons below an answer,
 * its sources, the menu, notes about failures, and the features of the chat.
 */

import type { Dictionary } from "../dictionaries.ts";
import type { ChatActs } from "../open/chat-acts.ts";
import type { Texts } from "../open/english.ts";
import type { Owner } from "../open/owner.ts";
import type { Store } from "../open/store.ts";
import { plainAsk } from "../open/transport/http.ts";
import type { KeptChat } from "../open/transport/transport.ts";
import type { Turn } from "../open/turn.ts";
import { adopt, element } from "../open/view/dom.ts";
import type { Seat } from "../seat.ts";
import { type ActionActs, actions } from "./actions.ts";
import stylesheet from "./answer.css";
import { calm } from "./calm.ts";
import { codeCopier } from "./copy.ts";
import { ENGLISH } from "./english.ts";
import { fade } from "./fade.ts";
import type { Kit, Restored } from "./feature.ts";
import { featuresOf } from "./features.ts";
import { keepFocus } from "./focus.ts";
import { addJump } from "./jump.ts";
import { mayLink } from "./links.ts";
import { menu } from "./menu.ts";
import proseStyles from "./prose.css";
import { Prose } from "./prose.ts";
import { fillScreen } from "./screen.ts";
import { citedOf, linkNumbers, sourceList } from "./sources.ts";

/** The answers of the widget in `root`. `speak` announces a text to screen readers. */
export default function answer(
  root: ShadowRoot | null,
  texts: Texts & Dictionary,
  speak: (text: string) => void,
  seat: Seat,
) {
  const { settings, apiUrl, script, fetch } = seat;
  adopt(root, proseStyles + stylesheet);
  let chat: ChatActs | undefined;
  /** As `chat`, also for a chat that the service does not store. */
  let acts: ChatActs | undefined;
  let isCalm = false;
  /** Whether the chat of an earlier page has been drawn. */
  let isDrawn = false;
  let restored: Restored = {};
  const words = { ...ENGLISH, ...texts };
  const kit: Kit = {
    root,
    texts: words,
    settings,
    apiUrl: new URL(apiUrl),
    script,
    speak,
    chat: () => chat,
    tools: () => seat.tools,
    send: (question) => acts?.send(question),
    asking: (turn) => features.asking(turn, plainAsk),
    tell: (moment, ...args) => features.tell(moment, ...args),
  };
  const features = featuresOf(kit, fetch);
  features.tell("started");
  /** The note at the end of the conversation. */
  const lastNote = () => root?.querySelector<HTMLElement>(".turn:last-child > .trouble");
  /** The row of buttons below an answer, and its sources. */
  const rowOf = (turn: Turn, acts: ActionActs): HTMLElement => {
    // Lines of a person and messages to a person have no buttons.
    if (turn.person || !turn.answer) return element("div", { className: "actions", hidden: true });
    const rate: ActionActs["rate"] = (rated, rating, done) =>
      acts.rate(rated, rating, () => {
        done();
        features.tell("rated", row, rated);
      });
    const row = actions(words, speak, turn, { ...acts, rate });
    const sources = citedOf(turn.sources, location.href);
    if (sources.length > 0) row.prepend(sourceList(words.sources, sources));
    queueMicrotask(() => {
      // By then the row of buttons is below the answer.
      const answer = row.parentElement?.querySelector(".answer");
      for (const wide of answer?.querySelectorAll<HTMLElement>(".wide, pre") ?? []) fade(wide);
      if (answer && sources.length > 0) linkNumbers(answer, sources);
    });
    return row;
  };
  return {
    /** Writes the answer of a turn as Markdown. */
    prose: (into: Element, { sources }: Turn) =>
      new Prose(
        into,
        words,
        (address) => mayLink(address, sources),
        (text) => codeCopier(words, speak, text),
      ),
    actions: (turn: Turn, acts: ActionActs) => {
      const row = rowOf(turn, acts);
      features.tell("answered", row, turn);
      return row;
    },
    /** From now on the dots below an answer stand still while text arrives. */
    calm: (dots: Element) => {
      const log = dots.closest(".log");
      if (!log || isCalm) return;
      isCalm = true;
      calm(dots, log);
    },
    /** The answer of the turn in `node` is awaited, has another event, or has ended. */
    changed: (node: HTMLElement, turn: Turn) => features.tell("changed", node, turn, isDrawn),
    /** The tools of the header: enlarge, and the menu; and the button to the newest message. */
    menu: (ofChat: ChatActs) => {
      acts = ofChat;
      const node = menu(words, speak, acts);
      const log = root?.querySelector<HTMLElement>(".log");
      if (log) addJump(log, words.newest);
      features.tell("menu", node.querySelector("[role=menu]") as HTMLElement, acts);
      return node;
    },
    /** The service stores the chat. */
    keep: (acts: ChatActs) => {
      if (chat) return;
      chat = acts;
      features.tell("kept", restored);
    },
    /** The panel exists, with the chat of an earlier page, until `gone` is aborted. */
    drawn: (panel: HTMLElement, gone: AbortSignal) => {
      isDrawn = true;
      features.tell("drawn", panel);
      keepFocus(panel, gone);
      // A chat inside the page has no launcher, and never covers the page.
      if (root?.querySelector(".launcher")) fillScreen(panel, gone);
    },
    restore: async (kept: KeptChat, store: Store, owner: Owner) => {
      restored = await features.restore(kept, store, owner);
    },
    asking: kit.asking,
    /** Counts down to `due`, by `performance.now()`, in the note about a delay. */
    countDown: (due: number) => {
      const note = lastNote();
      if (note) features.tell("delayed", note, due);
    },
    /** The answer of the last turn has ended early. */
    failed: (turn: Turn) => {
      const note = lastNote();
      if (note) features.tell("failed", note, turn);
    },
    /** Resolves when the features that are needed so far are loaded, or cannot be. */
    loaded: features.loaded,
  };
}

export type AnswerModule = { readonly default: typeof answer };

export type AnswerPart = ReturnType<typeof answer>;

/**
 * Calls `use` with the file for answers: at once if it is loaded, else after fetching it. Calls
 * `without` if that fails.
 */
export type UseAnswer = (use: (answer: AnswerPart) => void, without?: () => void) => void;
