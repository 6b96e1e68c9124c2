/**
 * The tools of the page in the browser's own interface, for sites with `data-webmcp="on"`: the browser's
 * assistant can search the site's pages, and the chat has the tools that the page has registered there.
 */

import type { Feature, Kit } from "../../answer/feature.ts";
import type { PageTool } from "../page-tools/tool.ts";
import { offer, registeredTools, watchTools } from "./model-context.ts";
import { pagesOf } from "./pages.ts";

export default function webmcp({ root, apiUrl, tools }: Kit): Feature {
  const ours = new Set<string>();
  /** The tools of the page that were given to the chat before. */
  let before = new Set<PageTool>();
  const add = async (): Promise<void> => {
    const found = await registeredTools(ours).catch(() => ({}));
    const given = Object.entries(tools() ?? {}).filter(([, tool]) => !before.has(tool));
    const all = { ...found, ...Object.fromEntries(given) };
    const isChanged = before.size > 0 || Object.keys(found).length > 0;
    before = new Set(Object.values(found));
    if (isChanged) root?.ownerDocument.defaultView?.ChatWidget?.tools(all);
  };
  return {
    started: () => {
      if (root && watchTools(add)) search(root.host, apiUrl, ours);
    },
    // The page may have given others to `ChatWidget.tools`, which replace these.
    asking: async (_turn, ask) => {
      await add();
      return ask;
    },
  };
}

/** Offers the search of the pages, while the widget is in the page. */
async function search(host: Element, apiUrl: URL, ours: Set<string>): Promise<void> {
  const gone = new AbortController();
  if (host.parentNode) {
    const left = new MutationObserver(() => host.isConnected || gone.abort());
    left.observe(host.parentNode, { childList: true });
  }
  try {
    for (const tool of await pagesOf(apiUrl)) {
      ours.add(tool.name);
      await offer(tool, gone.signal);
    }
  } catch (error) {
    console.warn(`Chat widget: data-webmcp: ${error}`);
  }
}
