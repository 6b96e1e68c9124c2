/** `data-suggestions`: what a visitor may ask with one click. */

const MOST = 6;
const LONGEST_CHARS = 80;

/** What was written there, in its order; the console is told if some of it is of no use. */
export function readSuggestions(value: unknown): readonly string[] {
  const written = listOf(value);
  const usable = written.flatMap((item) => {
    const text = typeof item === "string" ? item.trim() : "";
    return text && text.length <= LONGEST_CHARS ? [text] : [];
  });
  const suggestions = usable.slice(0, MOST);
  if (suggestions.length < written.length) {
    console.warn(
      `Chat widget: data-suggestions: up to ${MOST} texts of ${LONGEST_CHARS} characters`,
    );
  }
  return suggestions;
}

/** The items as written; one that cannot be used stands for a list that cannot be read. */
function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  try {
    const text = ((value ?? "") as string).trim();
    if (text.startsWith("[")) return JSON.parse(text);
    return text ? text.split("|") : [];
  } catch {
    return [undefined];
  }
}
