/** Which languages the widget speaks. */

/** Beside Chinese and English. All but English have a dictionary in languages/. */
const OTHERS = /^(ja|ko|es|fr|de|pt|ru|ar|he|vi|id)$/;

/** The first of the tags that the widget speaks; English where it speaks none. */
export function languageOf(wanted: readonly unknown[]): string {
  for (const tag of wanted) {
    const [, primary = "", rest = ""] = /^ *([a-z]+)(.*)/.exec(`${tag}`.toLowerCase()) ?? [];
    if (primary === "zh") return /hant|tw|hk|mo/.test(rest) ? "zh-TW" : "zh-CN";
    // The tag that Hebrew had before.
    const language = primary === "iw" ? "he" : primary;
    if (language === "en" || OTHERS.test(language)) return language;
  }
  return "en";
}
