/**
 * WebMCP, the interface of browsers for the tools of a page. It is a draft that changes, and no other
 * file knows it. Source: https://webmachinelearning.github.io/webmcp/
 */

import { own } from "../../open/own.ts";
import type { PageTool, PageTools } from "../page-tools/tool.ts";

/** A tool that the widget offers to the browser's assistant. It only reads. */
export interface OfferedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: object;
  /** Returns a value that can be written as JSON. */
  run(input: object, signal: AbortSignal | undefined): Promise<unknown>;
}

interface RegisteredTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: object;
}

interface ModelContext extends EventTarget {
  registerTool(tool: object, options: { readonly signal: AbortSignal }): Promise<void>;
  /** The tools of this page, and of its frames from the same origin. */
  getTools(): Promise<readonly RegisteredTool[]>;
  /** The result as JSON; null if the page was left. */
  executeTool(tool: RegisteredTool, input: object): Promise<string | null>;
}

/** The limits of the service, and of a schema, so that the tools of a page do not fill a question. */
const LONGEST_TEXT = 1_000;
const MOST_PARAMETERS = 20;
const LONGEST_SCHEMA = 1_000;

function modelContext(): ModelContext | undefined {
  return (document as { readonly modelContext?: ModelContext }).modelContext;
}

/** Calls `told` now, and after each change of the page's tools. Returns false without WebMCP. */
export function watchTools(told: () => void): boolean {
  const context = modelContext();
  if (!context) return false;
  context.addEventListener("toolchange", told);
  told();
  return true;
}

/** Offers a tool until `gone`. Rejects if the page has a tool of this name. */
export async function offer(tool: OfferedTool, gone: AbortSignal): Promise<void> {
  const { name, title, description, inputSchema } = tool;
  const execute = (input: object, options?: { readonly signal?: AbortSignal }) =>
    tool.run(input, options?.signal);
  const annotations = { readOnlyHint: true };
  const offered = { name, title, description, inputSchema, annotations, execute };
  await modelContext()?.registerTool(offered, { signal: gone });
}

/** The tools that the page has registered, but for `ours` and those with a large schema. */
export async function registeredTools(ours: ReadonlySet<string>): Promise<PageTools> {
  const context = modelContext();
  const found = (await context?.getTools()) ?? [];
  const others = found.filter(({ name, inputSchema }) => !ours.has(name) && isSmall(inputSchema));
  return Object.fromEntries(others.map((tool) => [tool.name, pageTool(context, tool)]));
}

function isSmall(schema: object | undefined): boolean {
  const names = Object.keys((own(schema, "properties") ?? {}) as object);
  return names.length <= MOST_PARAMETERS && (JSON.stringify(schema) ?? "").length <= LONGEST_SCHEMA;
}

function pageTool(context: ModelContext | undefined, tool: RegisteredTool): PageTool {
  const parameters = (own(tool.inputSchema, "properties") ?? {}) as Record<string, object>;
  const required = own(tool.inputSchema, "required");
  const isOptional = (name: string): boolean =>
    !Array.isArray(required) || !required.includes(name);
  return {
    description: tool.description.slice(0, LONGEST_TEXT).toWellFormed(),
    parameters,
    optional: Object.keys(parameters).filter(isOptional),
    run: async (args) => (await context?.executeTool(tool, args)) ?? "The page was left.",
  };
}
