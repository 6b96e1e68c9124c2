import { expect, test } from "vitest";
import { newest, outgoing } from "../../src/open/transport/history.ts";

const exchange = (question: string, answer: string) => ({ question, answer });

test("history: questions and answers go out in order, the last question last", () => {
  expect(outgoing([exchange("a", "b"), exchange("c", "half an ans")])).toEqual([
    { role: "user", content: "a" },
    { role: "assistant", content: "b" },
    { role: "user", content: "c" },
  ]);
});

test("history: a question that got no answer is still part of it", () => {
  expect(outgoing([exchange("a", ""), exchange("c", "")]).map(({ content }) => content)).toEqual([
    "a",
    "c",
  ]);
});

test("history: the body stays below the 64 KiB and 200 messages of the service (C4)", () => {
  for (const text of ["short", "长".repeat(2_000), '"\n'.repeat(3_000)]) {
    const messages = outgoing(Array.from({ length: 300 }, () => exchange(text, text)));
    const body = JSON.stringify({ messages, client_message_id: "x".repeat(36) });
    expect(new TextEncoder().encode(body).length).toBeLessThan(65_536);
    expect(messages.length).toBeLessThanOrEqual(200);
    expect(messages[0]?.role).toBe("user");
    expect(messages.at(-1)).toEqual({ role: "user", content: text });
  }
});

test("history: the question goes out even where it alone is over the limit", () => {
  const messages = outgoing([exchange("before", "yes"), exchange("长".repeat(30_000), "")]);
  expect(messages).toHaveLength(1);
});

test("history: half an emoji is no text for a server", () => {
  expect(outgoing([exchange("a\ud83d", "")])[0]?.content).toBe("a\ufffd");
  expect(outgoing([exchange("a👍", "")])[0]?.content).toBe("a👍");
});

test("history: the kept turns end where a limit is reached, even before the last one", () => {
  expect(newest(["a", "b", "c"], () => 40)).toEqual(["b", "c"]);
  expect(newest(["a", "b".repeat(40_000), "c".repeat(30_000)], () => 2)).toHaveLength(1);
  expect(newest(["a", "长".repeat(30_000)], () => 2)).toEqual([]);
});

test("history: the line of a person has no question (H4)", () => {
  const line = { ...exchange("", "I am here."), person: "Ingrid" };
  expect(outgoing([exchange("a", "b"), line, exchange("c", "")])).toEqual([
    { role: "user", content: "a" },
    { role: "assistant", content: "b" },
    { role: "assistant", content: "I am here." },
    { role: "user", content: "c" },
  ]);
});
