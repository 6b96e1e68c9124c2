/** The opening hours of the persons who answer. */

/** In English. `{time}`: such as "Monday, November 30 at 9:00 AM". */
export const OPENS = "A person answers again: {time}";

/** When a person answers again; "" during the opening hours, and on a service without them. */
export function opensAgain(texts: { lang: string; opens: string }, at: unknown): string {
  const time = new Date(`${at}`);
  if (Number.isNaN(+time)) return "";
  const day = { weekday: "long", day: "numeric", month: "long" } as const;
  const shown = { ...day, hour: "numeric", minute: "2-digit" } as const;
  return texts.opens.replace("{time}", new Intl.DateTimeFormat(texts.lang, shown).format(time));
}
