/** The languages of the widget. */

/** The languages besides Chinese and English. Each but English has a dictionary in languages/. */
const OTHERS = /^(ja|ko|es|fr|de|pt|ru|ar|he|vi|id)$/;

/** The first of the tags that is a supported language; English if none is. */
export function languageOf(wanted: readonly unknown[]): string {
  for (const tag of wanted) {
    const [, primary = "", rest = ""] = /^ *([a-z]+)(.*)/.exec(`${tag}`.toLowerCase()) ?? [];
    if (primary === "zh") return /hant|tw|hk|mo/.test(rest) ? "zh-TW" : "zh-CN";
    // The old tag of Hebrew.
    const language = primary === "iw" ? "he" : primary;
    if (language === "en" || OTHERS.test(language)) return language;
  }
  return "en";
}
