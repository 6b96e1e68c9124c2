/** Copying, and the command line that sends a request again. */

import { button } from "./dom.ts";
import { t } from "./texts.ts";
import type { Call } from "./types.ts";

export function copyButton(label: string, text: () => string): HTMLButtonElement {
  const node = button(
    { className: "quiet" },
    async () => {
      await copied(text());
      node.textContent = t.copied;
      setTimeout(() => {
        node.textContent = label;
      }, 1500);
    },
    label,
  );
  return node;
}

async function copied(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // No clipboard on a page without https.
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

/** The key is never here: the shell puts in `$API_KEY`, and the base URL of the upstream. */
export function curl(call: Call): string {
  const body = (call.request ?? "").replaceAll("'", "'\\''");
  const host = (call.meta.host ?? "").replace(/[^\w.-]/g, "");
  return [
    `curl -N "\${UPSTREAM_URL:?the base URL${host ? ` at ${host}` : ""}}/chat/completions"`,
    `  -H "Authorization: Bearer $API_KEY"`,
    `  -H "Content-Type: application/json"`,
    `  --data-binary '${body}'`,
  ].join(" \\\n");
}
