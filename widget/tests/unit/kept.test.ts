/** A stored chat, merged with the turns in the browser. */

import { expect, test } from "vitest";
import { merged, turnsOf } from "../../src/features/resume/merge.ts";
import { sessionOf } from "../../src/open/transport/session.ts";
import type { Turn } from "../../src/open/turn.ts";

const local = (question: string, answer = "yes", ending: Turn["ending"] = "whole"): Turn => ({
  id: `id of ${question}`,
  question,
  answer,
  ending,
});
const kept = (question: string, answer = "yes", ending: Turn["ending"] = "whole"): Turn => ({
  ...local(question, answer, ending),
  id: "",
});

test("kept: messages become turns, each with how it ended (P14, P16)", () => {
  const message = (role: string, content: unknown, status: string) => ({ role, content, status });
  const messages = [
    message("assistant", "of a question on the page before", "ok"),
    message("user", "a", "ok"),
    message("assistant", "b", "ok"),
    message("user", "c", "failed"),
    message("user", "d", "partial"),
    message("assistant", "hal", "partial"),
    message("user", "e", "interrupted"),
    message("user", 7, "ok"),
    message("user", "f", "pending"),
  ];
  expect(turnsOf({ messages, before: null })).toEqual([
    kept("a", "b"),
    kept("c", "", "upstream_service_unavailable"),
    kept("d", "hal", "stopped"),
    kept("e", "", "disconnected"),
    kept("f", "", "open"),
  ]);
});

for (const value of [undefined, null, 7, {}, { messages: 7 }, { messages: [null, 7, {}] }]) {
  test(`kept: ${JSON.stringify(value)} is no history, and nothing is thrown (W10)`, () => {
    expect(turnsOf(value)).toEqual([]);
  });
}

test("kept: a session is two texts, or none (W10)", () => {
  expect(sessionOf({ id: "a", token: "b", more: 1 })).toEqual({ id: "a", token: "b" });
  for (const value of [undefined, null, "a", { id: "a" }, { id: 1, token: "b" }]) {
    expect(sessionOf(value)).toBeUndefined();
  }
});

const MERGED: readonly (readonly [string, readonly Turn[], readonly Turn[], readonly Turn[]])[] = [
  ["nothing here: all is the service's", [kept("a"), kept("b")], [], [kept("a"), kept("b")]],
  ["nothing there: all is here", [], [local("a")], [local("a")]],
  [
    "it is being answered: the text that has arrived stays",
    [kept("a", "", "open")],
    [local("a", "hal", "disconnected")],
    [local("a", "hal", "open")],
  ],
  [
    "the same: ids of here",
    [kept("a"), kept("b")],
    [local("a"), local("b")],
    [local("a"), local("b")],
  ],
  [
    "white space does not count",
    [kept("a b\n\nc")],
    [local("a  b\n\n\n\nc")],
    [local("a  b\n\n\n\nc")],
  ],
  ["it went on elsewhere", [kept("a"), kept("b")], [local("a")], [local("a"), kept("b")]],
  [
    "the last never arrived",
    [kept("a")],
    [local("a"), local("b", "", "unreachable")],
    [local("a"), local("b", "", "unreachable")],
  ],
  ["it began elsewhere", [kept("a"), kept("b")], [local("b")], [kept("a"), local("b")]],
  ["what is here is older", [kept("b")], [local("a"), local("b")], [local("a"), local("b")]],
  [
    "the whole answer is there",
    [kept("a", "half and half")],
    [local("a", "half", "disconnected")],
    [local("a", "half and half")],
  ],
  [
    "cut off: why is known here",
    [kept("a", "half", "stopped")],
    [local("a", "half", "disconnected")],
    [local("a", "half", "disconnected")],
  ],
  [
    "one question twice: each its answer",
    [kept("a", "1"), kept("a", "2")],
    [local("a", "1"), { ...local("a", "2"), id: "other" }],
    [local("a", "1"), { ...local("a", "2"), id: "other" }],
  ],
];

for (const [what, there, here, both] of MERGED) {
  test(`kept: ${what} (P17)`, () => {
    expect(merged(there, here)).toEqual(both);
  });
}

test("kept: a rating of here stays", () => {
  expect(merged([kept("a")], [{ ...local("a"), rating: "up" }])).toEqual([
    { ...local("a"), rating: "up" },
  ]);
});

const line = (id: number, answer: string): Turn => ({
  id: `person-${id}`,
  question: "",
  answer,
  ending: "whole",
  person: "Ingrid",
});

test("kept: a line that is a translation has the person's own words below (H30)", () => {
  const line = { id: 5, role: "assistant", content: "Ja.", operator: "Ingrid" };
  const texts = [{ ...line, original: "Yes.\nBye." }, line].map(
    (one) => turnsOf({ messages: [one] })[0]?.answer,
  );
  expect(texts).toEqual(["Ja.\n\n> Yes.\n> Bye.", "Ja."]);
});

test("kept: lines of a person are turns of their own, not parts of an answer (H4)", () => {
  const messages = [
    { id: 1, role: "user", content: "a", status: "ok" },
    { id: 2, role: "assistant", content: "b", status: "ok" },
    { id: 4, role: "assistant", content: "I am here.", status: "ok", operator: "Ingrid" },
    { id: 5, role: "user", content: "good", status: "ok" },
    { id: 8, role: "assistant", content: "Bye.", status: "ok", operator: "Ingrid" },
  ];
  const turns = [kept("a", "b"), line(4, "I am here."), kept("good", ""), line(8, "Bye.")];
  expect(turnsOf({ messages })).toEqual(turns);
});

test("kept: a line that is known is not repeated, one that begins alike is another (H4)", () => {
  const here = [local("a"), line(4, "Hi")];
  const there = [kept("a"), line(4, "Hi"), line(6, "Hi there")];
  expect(merged(there, here)).toEqual([local("a"), line(4, "Hi"), line(6, "Hi there")]);
});
