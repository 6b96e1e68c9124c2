/**
 * The file for answers, which the chat fetches when it is opened: Markdown, the buttons below an answer,
 * its sources, the menu, notes about failures, and the features of the chat.
 */

import type { Check, CheckModule } from "../features/check/index.ts";
import type { Comment, CommentModule } from "../features/comment/index.ts";
import type { Contact, ContactModule } from "../features/contact/index.ts";
import type { ChatPort, Feature, Kit } from "../features/feature.ts";
import type { Resume, ResumeModule } from "../features/resume/index.ts";
import type { Talk, TalkModule } from "../features/talk/index.ts";
import type { ToolsModule } from "../features/tools/index.ts";
import type { Texts } from "../open/english.ts";
import { Lazy } from "../open/lazy.ts";
import type { Owner } from "../open/owner.ts";
import type { Store } from "../open/store.ts";
import { type Ask, plainAsk } from "../open/transport/http.ts";
import type { KeptChat } from "../open/transport/transport.ts";
import type { Ending, Turn } from "../open/turn.ts";
import { adopt, element } from "../open/view/dom.ts";
import type { Seat } from "../seat.ts";
import { isOn } from "../settings.ts";
import { type ActionActs, actions } from "./actions.ts";
import stylesheet from "./answer.css";
import { warnOfUnknown } from "./attributes.ts";
import { calm } from "./calm.ts";
import { codeCopier } from "./copy.ts";
import { countDown } from "./countdown.ts";
import { type AnswerTexts, ENGLISH } from "./english.ts";
import { explain } from "./explain.ts";
import { fade } from "./fade.ts";
import { addJump } from "./jump.ts";
import { mayLink } from "./links.ts";
import { lostLine } from "./lost-line.ts";
import { type MenuActs, menu } from "./menu.ts";
import { adding } from "./page-fields.ts";
import proseStyles from "./prose.css";
import { Prose } from "./prose.ts";
import { QUIET_MS } from "./quiet.ts";
import { restore } from "./restore.ts";
import { citedOf, linkNumbers, sourceList } from "./sources.ts";
import { whenBack } from "./when-back.ts";

declare global {
  /** The expected hashes of the files; set by the build. */
  const COMMENT_INTEGRITY: string;
  const CONTACT_INTEGRITY: string;
  const TALK_INTEGRITY: string;
  const CHECK_INTEGRITY: string;
  const RESUME_INTEGRITY: string;
  const TOOLS_INTEGRITY: string;
}

/**
 * The answers of the widget in `root`. `speak` announces a text to screen readers. The seat
 * fetches further files: the talk with a person, the contact form if the site has one, and the bot check.
 */
export default function answer(
  root: ShadowRoot | null,
  texts: Texts & Partial<AnswerTexts>,
  speak: (text: string) => void,
  { settings, apiUrl, script, fetch: part }: Seat,
) {
  warnOfUnknown(settings);
  adopt(root, proseStyles + stylesheet);
  const words = { ...ENGLISH, ...texts };
  let chat: MenuActs | undefined;
  let isWaiting = false;
  let isCalm = false;
  /** Whether the chat of an earlier page has been drawn. */
  let isDrawn = !!root?.querySelector(".log");
  let restored: Awaited<ReturnType<typeof restore>> = {};
  const talk = new Lazy<Talk>(async () => {
    const module: TalkModule = await part("talk", TALK_INTEGRITY);
    return module.default(root, words, speak);
  });
  const comment = new Lazy<Comment>(async () => {
    const module: CommentModule = await part("comment", COMMENT_INTEGRITY);
    return module.default(root, words, speak);
  });
  const tools = new Lazy<Feature>(async () => {
    const module: ToolsModule = await part("tools", TOOLS_INTEGRITY);
    const offer: Kit["offer"] = (row, message) =>
      contact?.use((form) => form.offerIn(row, message));
    return module.default({ root, texts: words, speak, chat: () => chat, offer });
  });
  const startTalk = (): void => talk.use((started) => chat && started.start(chat));
  const resume = new Lazy<Resume>(async () => {
    const module: ResumeModule = await part("resume", RESUME_INTEGRITY);
    const isShown = (): boolean => !!root?.host.isConnected;
    return module.default(chat as MenuActs, isShown, lostLine(root, words, speak));
  });
  /** The note at the end of the conversation. */
  const lastNote = () => root?.querySelector<HTMLElement>(".turn:last-child > .trouble");
  /** Takes up the answer whose connection was lost. `note` is shown only if that fails or is slow. */
  const takeUp = (note: HTMLElement): void => {
    const show = (): void => {
      clearTimeout(late);
      if (!note.isConnected) return;
      note.hidden = false;
      speak(note.firstChild?.textContent ?? "");
    };
    const late = setTimeout(show, QUIET_MS);
    note.hidden = true;
    speak("");
    resume.load().then((loaded) => {
      const begun = loaded?.begin(false);
      if (begun === "begun") return;
      show();
      if (begun !== "never") whenBack(() => note.isConnected && takeUp(note));
    });
  };
  /** Only sites with a contact form have persons who answer. */
  const watch = (): void => {
    if (contact) talk.use((started) => chat && started.watch(chat));
  };
  /**
   * Runs the bot check, if it is due. Returns the function that adds its result, the preset and
   * the page's facts to questions.
   */
  const guard = async (): Promise<Ask> => {
    const loaded = settings.botCheck ? await check.load() : undefined;
    await loaded?.prove();
    return adding(loaded?.ask ?? plainAsk, apiUrl, settings);
  };
  const contact = isOn(settings.contact)
    ? new Lazy<Contact>(async () => {
        const module: ContactModule = await part("contact", CONTACT_INTEGRITY);
        return module.default(root, words, speak, () => chat, startTalk, new URL(apiUrl), guard);
      })
    : undefined;
  contact?.load();
  const check = new Lazy<Check>(async () => {
    const module: CheckModule = await part("check", CHECK_INTEGRITY);
    return module.default(root as ShadowRoot, `${settings.botCheck}`, apiUrl, script?.nonce);
  });
  return {
    actions: (turn: Turn, acts: ActionActs) => {
      if (turn.person || !turn.answer) {
        const row = element("div", { className: "actions", hidden: true });
        if (turn.person) talk.use((started) => started.shown(row, turn));
        // Without a chat, the turn is from an earlier page.
        else if (chat && turn.ending === "whole") startTalk();
        return row;
      }
      const rate: ActionActs["rate"] = (rated, rating, done) =>
        acts.rate(rated, rating, () => {
          done();
          contact?.use((form) => form.rated(row, rated));
          // Only a stored chat keeps the comment.
          const kept = chat;
          if (kept) comment.use((form) => form.rated(row, rated, kept));
        });
      watch();
      const row = actions(words, speak, turn, { ...acts, rate });
      contact?.use((form) => form.answered(row, turn));
      if (turn.events) tools.use(({ answered }) => answered?.(row, turn));
      const sources = citedOf(turn.sources, location.href);
      if (sources.length > 0) row.prepend(sourceList(words.sources, sources));
      queueMicrotask(() => {
        // By then the row of buttons is below the answer.
        const answer = row.parentElement?.querySelector(".answer");
        for (const wide of answer?.querySelectorAll<HTMLElement>(".wide, pre") ?? []) fade(wide);
        if (answer && sources.length > 0) linkNumbers(answer, sources);
      });
      return row;
    },
    /** From now on the dots below an answer stand still while text arrives. */
    calm: (dots: Element) => {
      const log = dots.closest(".log");
      if (!log || isCalm) return;
      isCalm = true;
      calm(dots, log);
    },
    /** The answer of the turn in `node` has another event about tools, or has ended. */
    used: (turn: Turn, node: HTMLElement) => {
      const isNew = isDrawn;
      tools.use(({ used }) => used?.(turn, node, isNew));
    },
    /** Sends the click on a card; undefined if the file for it cannot be fetched. */
    click: async (turn: Turn, port: ChatPort) => (await tools.load())?.click?.(turn, port),
    /** Writes the answer of a turn as Markdown. */
    prose: (into: Element, { sources }: Turn) =>
      new Prose(
        into,
        words,
        (address) => mayLink(address, sources),
        (text) => codeCopier(words, speak, text),
      ),
    /** The tools of the header: enlarge, and the menu; and the button to the newest message. */
    menu: (acts: MenuActs) => {
      const node = menu(words, speak, acts);
      const log = root?.querySelector<HTMLElement>(".log");
      if (log) addJump(log, words.newest);
      contact?.use((form) => form.addTo(node.querySelector("[role=menu]")));
      return node;
    },
    /** The service stores the chat. */
    keep: (acts: MenuActs) => {
      if (chat) return;
      chat = acts;
      if (isWaiting) startTalk();
      else watch();
      const { writer, isPending } = restored;
      if (writer) talk.use((started) => started.missed(writer));
      // Fetched before the connection can be lost: afterwards the file cannot be fetched.
      resume.use(({ begin }) => isPending && begin(true));
    },
    /** The panel exists. */
    drawn: () => {
      isDrawn = true;
    },
    restore: async (kept: KeptChat, store: Store, owner: Owner) => {
      restored = await restore(kept, store, owner);
      isWaiting = store.read().isWaiting;
    },
    guard,
    /** Counts down to `due`, by `performance.now()`, in the note about a delay. */
    countDown: (due: number) => {
      const note = lastNote();
      // This file may be loaded after the wait.
      if (note && due > performance.now()) countDown(words, speak, note, due);
    },
    /** Adds to the note at the end of the conversation. */
    explain: (ending: Ending) => {
      const note = lastNote();
      if (chat && note && (ending === "disconnected" || ending === "cut")) takeUp(note);
      return explain(root, words, speak, ending, apiUrl, (note) =>
        contact?.use(({ offer }) => offer(note)),
      );
    },
  };
}

export type AnswerModule = { readonly default: typeof answer };

export type AnswerPart = ReturnType<typeof answer>;

/**
 * Calls `use` with the file for answers: at once if it is loaded, else after fetching it. Calls
 * `without` if that fails.
 */
export type UseAnswer = (use: (answer: AnswerPart) => void, without?: () => void) => void;
