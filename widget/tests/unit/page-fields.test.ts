/** The facts about the page that a site adds to questions: their limits are those of the service. */

import { expect, test } from "vitest";
import { adding, capped } from "../../src/features/page/fields.ts";
import type { Ask } from "../../src/open/transport/http.ts";

const API = "https://chat.example.com/api/chat";

test("facts are texts, numbers and booleans; others, and what is too long, are left out or cut", () => {
  expect(
    capped({
      title: "Shoes",
      price: 79.5,
      sale: true,
      tags: ["a"],
      none: null,
      empty: " ",
      ["x".repeat(65)]: 1,
    }),
  ).toEqual({ title: "Shoes", price: "79.5", sale: "true" });
  expect(capped({ long: "x".repeat(600) })).toEqual({ long: "x".repeat(500) });
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`n${n}`, "v"]));
  expect(Object.keys(capped(many) ?? {})).toHaveLength(16);
  const large = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`n${n}`, "x".repeat(500)]));
  const total = Object.entries(capped(large) ?? {})
    .flat()
    .join("").length;
  expect(total).toBeLessThanOrEqual(2_000);
  expect(total).toBeGreaterThan(1_900);
  expect(capped({ half: `${"x".repeat(499)}😀` })?.half).toBe(`${"x".repeat(499)}\uFFFD`);
  for (const value of [undefined, null, "title", 7, {}, []]) expect(capped(value)).toBe(undefined);
});

test("only questions get the fields, as the settings are at that time", async () => {
  const sent: [string, unknown][] = [];
  const ask: Ask = async (url, init) => {
    sent.push([url.pathname, init.body]);
    return new Response();
  };
  const settings: Record<string, unknown> = { preset: "sales" };
  const add = adding(ask, API, settings);
  const post = { method: "POST", body: '{"message":"hello"}' };
  await add(new URL(API), post);
  settings.context = () => ({ product: "Boots" });
  await add(new URL(API), post);
  settings.context = () => {
    throw new Error("the page's own fault");
  };
  settings.preset = undefined;
  await add(new URL(API), post);
  await add(new URL(`${API}/cancel`), post);
  await add(new URL(API), { method: "GET" });
  expect(sent.map(([, body]) => body)).toEqual([
    '{"message":"hello","config_id":"sales"}',
    '{"message":"hello","config_id":"sales","context":{"product":"Boots"}}',
    post.body,
    post.body,
    undefined,
  ]);
});
