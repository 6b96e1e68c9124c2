// What the demo, the playground and the gallery share: their language, tags, and copying.

export const isChinese = /^zh\b/i.test(navigator.language);

/** Puts the page into Chinese for a Chinese browser; what it says stays English for all others. */
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

/** The tag to paste, an attribute a line; an empty value is an attribute without one. */
export function tagOf(attributes) {
  const lines = Object.entries(attributes).map(([name, value]) =>
    value === "" ? `\n  ${name}` : `\n  ${name}="${escaped(value)}"`,
  );
  return `<script${lines.join("")}\n  defer></script>`;
}

/** Makes `button` copy what `source` shows. */
export function offerCopy(button, source) {
  const [done, byHand] = isChinese ? ["已复制", "请手动复制"] : ["Copied", "Please copy by hand"];
  const label = button.textContent;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = done;
    } catch {
      // No clipboard on a page without https: the text is selected instead.
      getSelection().selectAllChildren(source);
      button.textContent = byHand;
    }
    setTimeout(() => {
      button.textContent = label;
    }, 2000);
  });
}
