import { createParser } from "eventsource-parser";
import { expect, test } from "vitest";
import { AnswerDecoder, type Arrival } from "../../src/open/transport/sse.ts";
import { chunk, DONE, errorEvent, finish, PING } from "../scripted-service.ts";

const STREAM = [
  PING,
  'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}]}\n\n',
  'data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm"},"finish_reason":null}]}\n\n',
  chunk("您好，"),
  PING,
  chunk("世界 👩‍👩‍👧 \n\ndata: [DONE]\n\n"),
  finish(),
  'data: {"choices":[],"usage":{"total_tokens":9}}\n\n',
  DONE,
].join("");

const ARRIVALS: readonly Arrival[] = [
  { kind: "text", text: "您好，" },
  { kind: "text", text: "世界 👩‍👩‍👧 \n\ndata: [DONE]\n\n" },
  { kind: "finish", reason: "stop" },
  { kind: "done" },
];

function decode(...parts: readonly Uint8Array[]): Arrival[] {
  const decoder = new AnswerDecoder();
  return parts.flatMap((part) => decoder.decode(part));
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

const FORMS = {
  "line feeds": STREAM,
  "carriage returns and line feeds": STREAM.replaceAll("\n", "\r\n"),
  "a byte order mark": `\ufeff${STREAM}`,
};

for (const [form, text] of Object.entries(FORMS)) {
  const bytes = bytesOf(text);

  test(`a stream with ${form} means the same wherever it is cut in two`, () => {
    for (let i = 0; i <= bytes.length; i++) {
      expect(decode(bytes.subarray(0, i), bytes.subarray(i))).toEqual(ARRIVALS);
    }
  });

  test(`a stream with ${form} means the same byte by byte`, () => {
    expect(decode(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(ARRIVALS);
  });
}

test("a stream that ends anywhere before its end is never taken for whole (W5)", () => {
  const bytes = bytesOf(STREAM);
  for (let i = 0; i < bytes.length; i++) {
    const kinds = decode(bytes.subarray(0, i)).map(({ kind }) => kind);
    expect(kinds).not.toContain("done");
  }
});

const ERRORS: readonly (readonly [string, string, string])[] = [
  ["our 504", errorEvent("gateway_timeout"), "gateway_timeout"],
  ["our 429", errorEvent("rate_limit_exceeded"), "rate_limit_exceeded"],
  ["our 400", errorEvent("invalid_request"), "invalid_request"],
  ["too long", errorEvent("context_length_exceeded"), "invalid_request"],
  ["unknown", errorEvent("__proto__"), "upstream_service_unavailable"],
  ["a word", 'data: {"error":"overloaded"}\n\n', "upstream_service_unavailable"],
  ["broken JSON", "data: {\n\n", "upstream_service_unavailable"],
  ["an endless line", `data: ${"x".repeat((1 << 20) + 1)}`, "upstream_service_unavailable"],
];

for (const [name, event, code] of ERRORS) {
  test(`an error event is recognised by its code: ${name} (W6)`, () => {
    expect(decode(bytesOf(event))).toEqual([{ kind: "error", code }]);
  });
}

for (const strange of ["null", "1", '"text"', "[]", '{"choices":{}}', '{"choices":[null]}', "{}"]) {
  test(`an event without a choice is passed over: ${strange}`, () => {
    expect(decode(bytesOf(`data: ${strange}\n\n`))).toEqual([]);
  });
}

test("events are split as by eventsource-parser, for any lines and line ends", () => {
  const pieces = [
    "data: x",
    "data:y",
    "data",
    "data:  z",
    ":c",
    "id: 4",
    "event: x",
    "datax: 5",
    "",
  ];
  let state = 9;
  const choose = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  for (let round = 0; round < 500; round += 1) {
    let stream = "";
    for (let count = choose(20); count >= 0; count -= 1) {
      stream += `${pieces[choose(pieces.length)]}${["\n", "\r\n"][choose(2)]}`;
    }
    let events = 0;
    const parser = createParser({ onEvent: () => (events += 1) });
    parser.feed(stream);
    // None of these is an answer: each event is reported as an error.
    expect(decode(bytesOf(stream)), JSON.stringify(stream)).toHaveLength(events);
  }
});

/** Milliseconds for one event of so many characters, in packets of 16 bytes. */
function millisecondsFor(length: number): number {
  const bytes = bytesOf(chunk("x".repeat(length)));
  const decoder = new AnswerDecoder();
  const began = performance.now();
  let arrivals = 0;
  for (let at = 0; at < bytes.length; at += 16) {
    arrivals += decoder.decode(bytes.subarray(at, at + 16)).length;
  }
  expect(arrivals).toBe(1);
  return performance.now() - began;
}

test("a long line in small packets takes linear time", { timeout: 120_000 }, () => {
  const sizes = [25_000, 200_000];
  const best = sizes.map(() => Number.POSITIVE_INFINITY);
  // Linear work takes 8 times as long, quadratic work 64 times. The quickest of some tries counts.
  const linear = (): boolean => (best[1] ?? 0) <= 24 * (best[0] ?? 0);
  for (let round = 0; round < 10 && (round < 2 || !linear()); round += 1) {
    sizes.forEach((size, at) => {
      best[at] = Math.min(best[at] ?? 0, millisecondsFor(size));
    });
  }
  expect(linear(), `${best}`).toBe(true);
});
