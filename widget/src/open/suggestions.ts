/** `data-suggestions`: questions that a visitor can send with one click. */

const MOST = 6;
const LONGEST_CHARS = 80;

/** The questions in their order. Invalid questions are left out, with a warning on the console. */
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

/** The items of the setting, as written. A list that cannot be parsed becomes one invalid item. */
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
