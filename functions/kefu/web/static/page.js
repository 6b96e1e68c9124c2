// Shared by the demo page, the playground and the gallery: language, script tags and copying.

export const isChinese = /^zh\b/i.test(navigator.language);

/** Translates the page if the browser's language is Chinese. */
export function translate(chinese) {
  if (!isChinese) return;
  document.documentElement.lang = "zh-CN";
  for (const node of document.querySelectorAll("[data-text]")) {
    node.textContent = chinese[node.dataset.text];
  }
}

function escaped(value) {
  return value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}

/**
 * The script tag with one attribute per line. An empty value gives an attribute without a value.
 */
export function tagOf(attributes) {
  const lines = Object.entries(attributes).map(([name, value]) =>
    value === "" ? `\n  ${name}` : `\n  ${name}="${escaped(value)}"`,
  );
  return `<script${lines.join("")}\n  defer></script>`;
}

/** Makes `button` copy the text of `source`. */
export function offerCopy(button, source) {
  const [done, byHand] = isChinese ? ["已复制", "请手动复制"] : ["Copied", "Please copy by hand"];
  const label = button.textContent;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = done;
    } catch {
      // The clipboard needs https; on other pages the text is selected instead.
      getSelection().selectAllChildren(source);
      button.textContent = byHand;
    }
    setTimeout(() => {
      button.textContent = label;
    }, 2000);
  });
}
