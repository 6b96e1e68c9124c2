import { expect, test } from "vitest";
import { EVENTS, isBusy, LIMITS, STATES, type State, step } from "../../src/open/machine.ts";

/** W3, written a second time by hand: columns in the order of EVENTS, "." where nothing happens. */
const TABLE: Readonly<Record<State, string>> = {
  //                     send       open                byte      again      done stop lost         fail
  idle: "                connecting .                   .         .          .    .    .            .",
  connecting:
    "          .          awaiting-first-byte .         .          .    idle disconnected .",
  "awaiting-first-byte":
    ".         .                   streaming connecting .    idle disconnected failed",
  streaming:
    "           .          .                   streaming connecting idle idle disconnected failed",
  disconnected:
    "        connecting .                   .         .          .    .    .            .",
  failed:
    "              connecting .                   .         .          .    .    .            .",
};

for (const state of STATES) {
  const expected = TABLE[state].trim().split(/\s+/);
  for (const [column, event] of EVENTS.entries()) {
    const next = expected[column];
    test(`machine: ${state} + ${event} -> ${next === "." ? "nothing" : next} (W3)`, () => {
      expect(step(state, event)?.state ?? ".").toBe(next);
    });
  }
}

test("machine: every step starts the limit of the state it enters, in place of any other (W3)", () => {
  for (const state of STATES) {
    for (const event of EVENTS) {
      const next = step(state, event);
      if (next !== undefined) expect(next.limit).toBe(LIMITS[next.state]);
    }
  }
});

test("machine: each waiting state has its own time limit, each resting state none (W4, W5)", () => {
  expect(LIMITS).toEqual({
    connecting: "back-off",
    "awaiting-first-byte": "first-byte",
    streaming: "stall",
  });
});

test("machine: no second send is possible while an answer is under way (W8)", () => {
  for (const state of STATES) expect(step(state, "send") === undefined).toBe(isBusy(state));
});

test("machine: every waiting state can be stopped and can be lost (W7)", () => {
  for (const state of STATES.filter(isBusy)) {
    expect(step(state, "stop")?.state).toBe("idle");
    expect(step(state, "lost")?.state).toBe("disconnected");
  }
});
