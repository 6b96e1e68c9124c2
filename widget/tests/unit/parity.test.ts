import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  buildLLMMessages,
  estimateChars4,
  estimateMessageTokens,
  estimateTokensV1,
  type Message,
  truncateV1,
} from "../parity.ts";

type Golden = {
  tokens: { text: string; bytes4: number; chars4: number; cjk_v1: number }[];
  assembly: {
    system: string;
    history: Message[];
    current: string;
    budget: number;
    messages: Message[];
  }[];
  v1: { name: string; max_chars: number; messages: Message[]; kept: number[]; tokens: number }[];
};

const FILE = new URL("../../../tests/golden/context.json", import.meta.url);
const golden = JSON.parse(readFileSync(FILE, "utf8")) as Golden;

test("X2, X4: texts count as many tokens as in Python", () => {
  expect(golden.tokens.length).toBeGreaterThan(10);
  for (const { text, bytes4, chars4, cjk_v1 } of golden.tokens) {
    expect(estimateMessageTokens(text), text).toBe(bytes4);
    expect(estimateChars4(text), text).toBe(chars4);
    expect(estimateTokensV1(text), text).toBe(cjk_v1);
  }
});

test("X1, X3: prompts are assembled as in Python", () => {
  expect(golden.assembly.length).toBeGreaterThan(10);
  for (const { system, history, current, budget, messages } of golden.assembly) {
    const built = buildLLMMessages({
      systemPrompt: system,
      history,
      currentUserMessage: current,
      maxTokenBudget: budget,
    });
    expect(built).toEqual(messages);
  }
});

test("X5: long conversations are cut as in Python", () => {
  expect(golden.v1.length).toBeGreaterThan(5);
  for (const { name, max_chars, messages, kept, tokens } of golden.v1) {
    expect(truncateV1(messages, max_chars), name).toEqual(kept);
    const length = kept.reduce((sum, at) => sum + (messages[at]?.content.length ?? 0), 0);
    expect(length, name).toBe(tokens);
  }
});
