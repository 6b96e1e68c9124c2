/** The computations of the panel's insights: CSV, times, sums, and the marks of a search (H6, H7). */

import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { csv } from "../../panel/csv.ts";
import { formsOf } from "../../panel/marks.ts";
import type { Day } from "../../panel/types.ts";

type Times = typeof import("../../panel/times.ts");
type Days = typeof import("../../panel/days.ts");
let times: Times;
let days: Days;
let questions: typeof import("../../panel/questions.ts");
let texts: typeof import("../../panel/texts.ts");

beforeAll(async () => {
  vi.stubGlobal("navigator", { language: "en" });
  afterAll(() => {
    vi.unstubAllGlobals();
  });
  times = await import("../../panel/times.ts");
  days = await import("../../panel/days.ts");
  questions = await import("../../panel/questions.ts");
  texts = await import("../../panel/texts.ts");
});

const DAY: Day = {
  date: "2026-01-31",
  turns: 10,
  errors: 1,
  prompt_tokens: 1_000_000,
  completion_tokens: 500_000,
  chats: 7,
  unanswered: 2,
  ups: 3,
  downs: 1,
  handoffs: 1,
  first_words: 4,
  first_word_ms: 3000,
  assistants: 0,
  answers: 8,
  again: 3,
  proved: 5,
};

test("times are relative for a week, and dates after it (H7)", () => {
  const at = 1_800_000_000;
  const told = [0, -5, 59, 119, 120, 3600, 2 * 86_400].map((ago) => times.ago(at - ago, at));
  expect(told.slice(0, 3)).toEqual(["now", "now", "now"]);
  expect(told.slice(3)).toEqual(["1 min. ago", "2 min. ago", "1 hr. ago", "2 days ago"]);
  expect(times.ago(at - 8 * 86_400, at)).toMatch(/2027/);
  expect(times.timeOfDay(new Date(2026, 0, 31, 14, 5).getTime() / 1000)).toMatch(/2026.*2:05/);
});

test("a spreadsheet runs no question as a formula", () => {
  const rows = [
    [1, '=HYPERLINK("http://x")'],
    [2, "-1, or +1"],
    [3, "a\r\nb"],
  ];
  expect(csv(["n", "question"], rows)).toBe(
    'n,question\r\n1,"\'=HYPERLINK(""http://x"")"\r\n2,"\'-1, or +1"\r\n3,a b\r\n',
  );
});

test("the days are saved with plain names, and with a cost if there are prices (H6)", () => {
  const without = days.daysCsv([DAY], undefined).split("\r\n");
  expect(without[0]).toBe(
    "date,chats,questions,answered,not_answered,failed,rated_up,rated_down,asked_for_a_person,first_word_ms,prompt_tokens,completion_tokens,answers,left,asked_again,proved",
  );
  expect(without[1]).toBe("2026-01-31,7,10,7,2,1,3,1,1,750,1000000,500000,8,4,3,5");
  const about = { price_input: 1, price_output: 2 } as never;
  expect(days.daysCsv([DAY], about).split("\r\n")[1]).toMatch(/,2$/);
  expect(days.daysCsv([{ ...DAY, first_words: 0 }], undefined)).toContain(",1,1,,1000000");
});

test("a searched word marks its other forms, and no parts of words (H7)", () => {
  const marked = (search: string, text: string) => text.match(formsOf(search) ?? /(?!)/) ?? [];
  expect(marked("refunds", "A Refund; refunding, prerefund")).toEqual(["Refund", "refunding"]);
  expect(marked("退款 17", "我要退款 17, 170")).toEqual(["退款", "17"]);
  expect(marked("заказы", "мой Заказ")).toEqual(["Заказ"]);
  expect(marked("a.b", "a b ab")).toEqual(["a", "b"]);
  expect(formsOf(" ?! ")).toBeUndefined();
});

test("no gaps are told only if all chats were read and none was counted (M3)", () => {
  const whole = { days: [], tools: [], read: 9, is_whole: true, questions: [], pages: null };
  const none = { ...whole, gaps: [], gaps_whole: true };
  expect(questions.gapsText(none, 0)).toBe("Every question was answered.");
  expect(questions.gapsText({ ...none, gaps_whole: false }, 5)).toContain("among the newest");
  expect(questions.gapsText(none, 5)).toContain("were counted");
  const gap = { question: "?", times: 1, session_id: "a", at: 0, reasons: [], comments: [] };
  expect(questions.gapsText({ ...none, gaps: [gap] }, 5)).not.toContain("newest");
  const some = { ...none, gaps: [gap], gaps_whole: false };
  expect(questions.gapsText(some, 5)).toContain("Only the newest");
});

test("a small share is not told as none (M3)", () => {
  expect([0, 5 / 10_006, 0.01].map(texts.percent)).toEqual(["0.0 %", "< 0.1 %", "1.0 %"]);
});
