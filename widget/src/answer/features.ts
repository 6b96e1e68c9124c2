/** The features, and the moments at which their files are fetched. */

import { Lazy } from "../open/lazy.ts";
import { own } from "../open/own.ts";
import type { Ask } from "../open/transport/transport.ts";
import { isClick, type Turn } from "../open/turn.ts";
import type { FetchPart } from "../parts.ts";
import { isOn, textOf } from "../settings.ts";
import { unknownOf } from "./attributes.ts";
import type {
  Feature,
  FeatureModule,
  Kit,
  Moment,
  Moments,
  Restored,
  Tell,
  Told,
} from "./feature.ts";
import { isLong } from "./long.ts";
import { isAfterPause } from "./pause.ts";

declare global {
  /** The expected hash of each feature's file, by its name; set by the build. */
  const FEATURE_INTEGRITIES: Readonly<Record<string, string>>;
}

/** Truthy if a feature is due at a moment. It is told of this moment, and of all later ones. */
type DueAt = { readonly [M in Moment]?: (kit: Kit, ...args: Moments[M]) => unknown };

type Due = DueAt & {
  /** Truthy if the feature changes how the question of `turn` is sent. */
  readonly asking?: (kit: Kit, turn: Turn | undefined) => unknown;
  /** Whether such a question is not sent without the feature. */
  readonly isVital?: boolean;
};

const hasFields = ({ settings }: Kit): unknown => settings.context || settings.preset;
const hasImages = ({ settings }: Kit): boolean => textOf(settings.images) === "on";
const hasWebMcp = ({ settings }: Kit): boolean => textOf(settings.webmcp) === "on";

const hasMore = (events: Turn["events"]): unknown => own(events?.at(-1), "follow_ups");

/** By the names of their folders in features/. */
const FEATURES: Readonly<Record<string, Due>> = {
  contact: { started: ({ settings }) => isOn(settings.contact) },
  // Only sites with a contact form have persons who take a chat over.
  talk: {
    kept: ({ settings }, { isWaiting, writer }) => isOn(settings.contact) || isWaiting || writer,
    answered: ({ settings, chat }, _row, { person, answer }) =>
      person || (chat() && (isOn(settings.contact) || !answer)),
    requested: () => true,
  },
  // Only a stored chat keeps the comment.
  comment: { rated: ({ chat }) => chat() },
  colours: { changed: (_kit, node) => node.querySelector("pre") },
  countdown: { delayed: () => true },
  earlier: { changed: (_kit, node) => isLong(node) },
  edit: { menu: () => true },
  // The beginning of a formula in LaTeX.
  formulas: { changed: (_kit, _node, { answer }) => /\\[([]|\$[^\s\d]/.test(answer) },
  "follow-ups": {
    answered: ({ settings }, _row, { events }) => settings.followUps !== "off" && hasMore(events),
  },
  hints: { started: ({ settings }) => unknownOf(settings).length || textOf(settings.logo) },
  // Before the connection can be lost: afterwards the file could not be fetched.
  resume: { kept: () => true },
  times: { changed: (_kit, node, turn) => isAfterPause(node, turn) },
  // Of troubles, the panel has texts for those of the line alone.
  refusal: {
    failed: ({ texts }, _note, { ending }) =>
      ending === "unreachable" || !(ending in texts.endings),
  },
  tip: { started: ({ settings }) => textOf(settings.tip) },
  // Those that change a question: each one changes what the next one has made.
  images: { started: hasImages, asking: hasImages },
  check: { asking: ({ settings }) => settings.botCheck },
  page: { started: hasFields, asking: hasFields },
  // Before the tools of the page, which it adds to.
  webmcp: { started: hasWebMcp, asking: hasWebMcp },
  "page-tools": { isVital: true, asking: ({ tools }) => tools() },
  tools: {
    isVital: true,
    changed: (_kit, _node, turn) =>
      turn.events?.some((event) => !own(event, "follow_ups")) || isClick(turn),
    asking: (_kit, turn) => turn && isClick(turn),
  },
};

/** A timeout, after which the visitor can try again. */
const cannotAsk: Ask = async () => new Response(null, { status: 504 });

export function featuresOf(kit: Kit, part: FetchPart) {
  const begun = new Map<string, Lazy<Feature>>();
  const begin = (name: string): Lazy<Feature> => {
    const integrity = FEATURE_INTEGRITIES[name] as string;
    const feature =
      begun.get(name) ??
      new Lazy(async () => (await part<FeatureModule>(name, integrity)).default(kit));
    begun.set(name, feature);
    return feature;
  };
  const tell: Tell = (moment, ...args) => {
    for (const [name, due] of Object.entries<DueAt>(FEATURES)) {
      if (!begun.has(name) && !due[moment]?.(kit, ...args)) continue;
      begin(name).use((feature: Told) => feature[moment]?.(...args));
    }
  };
  return {
    tell,
    /** The function that sends the question of `turn`: `first`, as the features that are due change it. */
    asking: async (turn: Turn | undefined, first: Ask): Promise<Ask> => {
      let ask = first;
      for (const [name, due] of Object.entries(FEATURES)) {
        if (!due.asking?.(kit, turn)) continue;
        const feature = await begin(name).load();
        if (!feature && due.isVital) return cannotAsk;
        ask = (await feature?.asking?.(turn, ask)) ?? ask;
      }
      return ask;
    },
    restore: async (...chat: Parameters<Required<Feature>["restore"]>): Promise<Restored> =>
      (await (await begin("resume").load())?.restore?.(...chat)) ?? {},
    /** Resolves when the features that have begun are loaded, or cannot be. */
    loaded: () => Promise.all([...begun.values()].map((feature) => feature.load())),
  };
}
