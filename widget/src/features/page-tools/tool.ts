/** A tool of the page, and what comes of a call. */

import { own } from "../../open/own.ts";

export interface PageTool {
  /** For the model: what the tool does, and when. */
  readonly description: string;
  /** The JSON Schema of each parameter. None may be free text, which a card cannot show. */
  readonly parameters?: Readonly<Record<string, object>>;
  /** The names of parameters that may be left out. */
  readonly optional?: readonly string[];
  /** The question of the card, such as `Add {count} of {product}?`. */
  readonly approve?: string;
  /** Carries a call out. What it returns is a text, or becomes JSON, for the model. */
  run(args: Readonly<Record<string, unknown>>): unknown;
}

export type PageTools = Readonly<Record<string, PageTool>>;

export interface Result {
  readonly text: string;
  readonly state: "done" | "failed" | "unsure";
}

const NAME = /^[\w-]{1,64}$/;
/** The limits of the service. */
const MOST = 20;
const LONGEST_TEXT = 20_000;
const LONGEST_RUN_MS = 60_000;

/** The tools that the page's scripts have given, by name. Wrong ones are named in the console. */
export function toolsOf(tools: PageTools | undefined): ReadonlyMap<string, PageTool> {
  const found = new Map<string, PageTool>();
  for (const [name, tool] of Object.entries(tools ?? {})) {
    const isWhole = typeof own(tool, "description") === "string" && typeof tool.run === "function";
    if (NAME.test(name) && isWhole && found.size < MOST) found.set(name, tool as PageTool);
    else console.warn(`Chat widget: tools: ${name} needs a description and a function run`);
  }
  return found;
}

/** The tools as the service reads them. */
export function described(tools: ReadonlyMap<string, PageTool>) {
  return [...tools].map(([name, { description, parameters, optional, approve }]) => ({
    name,
    description,
    parameters,
    optional,
    approve,
  }));
}

/** Carries a call out. Nobody knows what a tool has done that fails, or takes too long. */
export async function resultOf(tool: PageTool | undefined, args: unknown): Promise<Result> {
  if (!tool) return { text: "The page does not have this tool any more.", state: "failed" };
  try {
    const late = new Promise<never>((_, fail) => {
      setTimeout(fail, LONGEST_RUN_MS, "it takes too long");
    });
    const value = await Promise.race([tool.run(args as Record<string, unknown>), late]);
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "Done.");
    return { text: text.slice(0, LONGEST_TEXT).toWellFormed(), state: "done" };
  } catch (error) {
    const text = `The page's tool failed: ${error}`.slice(0, LONGEST_TEXT).toWellFormed();
    return { text, state: "unsure" };
  }
}
