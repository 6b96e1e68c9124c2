/** The service's events about tools, and what becomes of a card (A9, A10, A14, A16). */

import { expect, test } from "vitest";
import { merged, turnsOf } from "../../src/features/resume/merge.ts";
import {
  type Card,
  clickText,
  isShown,
  isYes,
  stateOf,
  usedOf,
} from "../../src/features/tools/events.ts";
import { runningText } from "../../src/features/tools/view.ts";
import { AnswerDecoder } from "../../src/open/transport/sse.ts";
import { isClick, type Turn } from "../../src/open/turn.ts";
import { approval, step } from "../scripted-service.ts";

const ID = "approval-3-0f";
const TEXT = "Cancel order 5? 2 items, 89.00 EUR";
const CARD = { id: ID, tool_call_id: "s0c1", tool: "cancel_order", text: TEXT, expires: 1_000 };
const NOW = 999_000;
const DUE = 1_000_000;

const one = (state: string, more: object = {}): object => ({
  step: { tool_call_id: "s0c0", tool: "order_status", title: "Looking up", state, ...more },
});
const card = (state = ""): Card => ({ id: ID, call: "s0c1", text: TEXT, expires: 1_000, state });
const click = (question: string, ending: Turn["ending"], ...events: object[]): Turn => ({
  id: ID,
  question,
  answer: "",
  ending,
  events,
});
const YES = `✓ ${TEXT}`;
const NO = `✗ ${TEXT}`;
const MESSAGE: Turn = { id: "other", question: "Or not", answer: "", ending: "open" };
const LINE: Turn = { id: "person-7", question: "", answer: "Hi", ending: "whole", person: "Ann" };

test("events of both kinds are read from the stream, wherever it is cut (A16)", () => {
  const bytes = new TextEncoder().encode(step("input-available", "查询订单") + approval(CARD));
  for (let at = 0; at <= bytes.length; at++) {
    const decoder = new AnswerDecoder();
    const arrivals = [
      ...decoder.decode(bytes.subarray(0, at)),
      ...decoder.decode(bytes.subarray(at)),
    ];
    expect(arrivals.map(({ kind }) => kind)).toEqual(["event", "event"]);
    const events = arrivals.flatMap((arrival) => (arrival.kind === "event" ? arrival.event : []));
    expect(usedOf(events as unknown[])).toMatchObject({
      steps: [{ title: "查询订单", state: "input-available" }],
      card: { text: TEXT },
    });
  }
});

test("each step has its last state, in the order of their first events (A14)", () => {
  const events = [
    one("input-available"),
    one("input-available", { tool_call_id: "s0c1", title: "Asking" }),
    one("output-error", { tool_call_id: "s0c1", title: "Asking" }),
    one("output-available"),
  ];
  expect(usedOf(events).steps.map(({ title, state }) => [title, state])).toEqual([
    ["Looking up", "output-available"],
    ["Asking", "output-error"],
  ]);
});

test("a further attempt repeats the events, and takes nothing back that is certain (A10)", () => {
  for (const state of ["output-available", "output-error", "output-unsure"]) {
    const steps = usedOf([one("input-available"), one(state), one("input-available")]).steps;
    expect(steps.map((step) => step.state)).toEqual([state]);
  }
  const [last] = usedOf([
    one("output-error"),
    one("input-available"),
    one("output-available"),
  ]).steps;
  expect(last?.state).toBe("output-available");
});

test("the step of a card is no step of its own, in whatever state (A14)", () => {
  for (const state of ["approval-requested", "input-available", "output-available"]) {
    const events = [one(state, { tool_call_id: "s0c1" }), { approval: CARD }];
    expect(usedOf(events).steps).toEqual([]);
  }
  for (const more of [
    { state: "approval-requested" },
    { state: "output-denied" },
    { tool: "ask_person" },
  ]) {
    expect(usedOf([one("output-available", more)]).steps.map(isShown)).toEqual([false]);
  }
  expect(usedOf([one("output-available")]).steps.map(isShown)).toEqual([true]);
});

test("a tool that only the model knows has no line (A9)", () => {
  const made = one("output-error", { tool: "you_have_won", title: "" });
  expect(usedOf([made]).steps.map(isShown)).toEqual([false]);
});

test("a step whose title is the name of its tool has it made readable (A14)", () => {
  const titles = ["order_status", "get-order__by_id", "查询"].map(
    (tool) => usedOf([one("input-available", { title: tool, tool })]).steps[0]?.title,
  );
  expect(titles).toEqual(["Order status", "Get order by id", "查询"]);
});

test("a running step ends with one ellipsis (A14)", () => {
  const of = (title: string) => runningText({ id: "", tool: "", state: "", summary: "", title });
  expect(["Looking up", "Looking up…", "Looking up...", "查询中。"].map(of)).toEqual([
    "Looking up…",
    "Looking up…",
    "Looking up…",
    "查询中…",
  ]);
});

test("events that are none are nothing, as from a changed storage (W10)", () => {
  const broken = [
    undefined,
    null,
    7,
    "step",
    { step: 7 },
    { step: {} },
    { approval: [] },
    { approval: { id: 7 } },
  ];
  expect(usedOf(broken)).toEqual({ steps: [], card: undefined, isGone: false });
  expect(usedOf()).toEqual({ steps: [], card: undefined, isGone: false });
});

/** What follows a card -> its state */
const STATES: readonly (readonly [string, string, readonly Turn[]])[] = [
  ["nothing", "asked", []],
  ["the line of a person", "asked", [LINE]],
  ["another message", "declined", [LINE, MESSAGE]],
  ["a typed ✓ with the same words", "declined", [{ ...MESSAGE, question: YES }]],
  ["a yes that is on its way", "working", [click(YES, "open")]],
  ["a yes that runs", "working", [click(YES, "open", one("input-available"))]],
  [
    "a yes that is cut while it runs",
    "working",
    [click(YES, "disconnected", one("input-available"))],
  ],
  ["a yes that is cut", "working", [click(YES, "cut")]],
  [
    "a yes that is done",
    "done",
    [click(YES, "open", one("input-available"), one("output-available"))],
  ],
  [
    "a yes that is done, and whose text failed",
    "done",
    [click(YES, "gateway_timeout", one("output-available"))],
  ],
  ["a yes that failed", "failed", [click(YES, "whole", one("output-error"))]],
  ["a yes that may have happened", "unsure", [click(YES, "whole", one("output-unsure"))]],
  ["a yes that was stopped", "unsure", [click(YES, "stopped")]],
  [
    "a yes that ended while it ran",
    "unsure",
    [click(YES, "gateway_timeout", one("input-available"))],
  ],
  ["a yes that did not get there", "unfinished", [click(YES, "unreachable")]],
  ["a yes whose answer has only words", "answered", [click(YES, "whole")]],
  ["a yes that was refused", "gone", [click(YES, "whole", { gone: true })]],
  ["a no", "declined", [click(NO, "open")]],
  ["a no that ended", "declined", [click(NO, "whole"), MESSAGE]],
  ["a no that did not get there", "unfinished", [click(NO, "unreachable")]],
  ["a no that the service has stored", "declined", [click(NO, "whole", one("output-denied"))]],
  ["a yes after a no of another tab", "declined", [click(YES, "whole", one("output-denied"))]],
  ["a no after a yes of another tab", "done", [click(NO, "whole", one("output-available"))]],
];

for (const [what, state, later] of STATES) {
  test(`after a card comes ${what}: ${state} (A10, A14)`, () => {
    expect(stateOf(card(), later, DUE, NOW)).toBe(state);
    expect(stateOf(card("requested"), later, DUE, NOW)).toBe(state);
  });
}

test("a card expires by itself, and the service's word counts (A10)", () => {
  expect(stateOf(card(), [], DUE, DUE - 1)).toBe("asked");
  expect(stateOf(card(), [], DUE, DUE)).toBe("expired");
  expect(stateOf(card("expired"), [], DUE, NOW)).toBe("expired");
  expect(stateOf(card("expired"), [MESSAGE], DUE, NOW)).toBe("expired");
  expect(stateOf(card("denied"), [], DUE, NOW)).toBe("declined");
  expect(stateOf(card("approved"), [], DUE, NOW)).toBe("answered");
});

test("a click is told from a message by its id, and a yes from a no by its text (A10)", () => {
  const [yes, no] = [true, false].map((isApproved) => clickText(isApproved, card()));
  expect([yes, no]).toEqual([YES, NO]);
  expect(
    [click(YES, "open"), click(NO, "open"), { ...MESSAGE, question: YES }].map(isClick),
  ).toEqual([true, true, false]);
  expect([isYes(click(YES, "open")), isYes(click(NO, "open"))]).toEqual([true, false]);
});

const message = (role: string, content: string, more: object = {}) => ({
  role,
  content,
  status: "ok",
  ...more,
});

test("kept: steps and the card of an answer are its events, and the click has the card's id (A14)", () => {
  const { step: stored } = one("output-available") as { step: object };
  for (const [state, text, id] of [
    ["approved", YES, ID],
    ["denied", NO, ID],
    // The visitor has typed the same words.
    ["denied", YES, ""],
    ["expired", YES, ""],
    ["requested", "Cancel it", ""],
  ] as const) {
    const messages = [
      message("user", "Cancel my order"),
      message("assistant", "Shall I?", { steps: [stored], approval: { ...CARD, state } }),
      message("user", text),
      message("assistant", "Well."),
    ];
    const turns = turnsOf({ messages });
    expect(turns.map((turn) => turn.id)).toEqual(["", id]);
    expect(usedOf(turns[0]?.events)).toMatchObject({ steps: [{ id: "s0c0" }], card: { state } });
    expect(turns[1]?.events).toBe(undefined);
  }
});

test("kept: the service's events take precedence, but not for an answer in progress (A14)", () => {
  const mine = (ending: Turn["ending"], answer: string): Turn => ({
    id: "mine",
    question: "Where?",
    answer,
    ending,
    events: [one("input-available")],
  });
  const kept = (ending: Turn["ending"], answer: string, ...events: object[]): Turn => ({
    id: "",
    question: "Where?",
    answer,
    ending,
    events,
  });
  const [done] = merged(
    [kept("whole", "There.", one("output-available"))],
    [mine("disconnected", "")],
  );
  expect(done).toMatchObject({ id: "mine", events: [one("output-available")] });
  const [open] = merged([kept("open", "")], [mine("disconnected", "")]);
  expect(open).toMatchObject({ ending: "open", events: [one("input-available")] });
});
