/** The build's classes without `class` do what they did. */

import { expect, test } from "vitest";
import { flat } from "../../flat.mjs";

/** Both say what `use` finds out about the class `Made`; the built one in so many characters. */
function both(made: string, use: string): { asWritten: unknown; flattened: unknown; code: string } {
  const code = `var Two = class { two = 2 };var Made = ${made};`;
  const run = (source: string, call: string): unknown => new Function(`${source}${call}`)();
  const flattened = flat(`${code}function used(){${use}}`);
  return {
    asWritten: run(code, use),
    flattened: run(flattened, "return used()"),
    code: flattened,
  };
}

const CASES: Readonly<Record<string, readonly [made: string, use: string]>> = {
  "fields come in their order, and see what was before": [
    "class { first = 1; #second = this.first + 1; third = this.#second + 1; get all() { return [this.first, this.#second, this.third]; } }",
    "return new Made().all;",
  ],
  "each object has its own": [
    "class { #count = 0; more() { this.#count += 1; return this; } get count() { return this.#count; } }",
    "const one = new Made(); one.more().more(); return [one.count, new Made().count];",
  ],
  "made without brackets": [
    "class { #count = new Two; more() { return (this.#count.two += 1); } }",
    "const one = new Made; one.more(); const made = [one.more(), (new Made).more()]; return made;",
  ],
  "a parameter and its field are one, also by a short name in an object": [
    "class { #text; constructor(text, more = 1) { this.#text = text; this.said = { text, more, of: text.length }; } get text() { return this.#text; } }",
    "const one = new Made('abc'); return [one.text, one.said];",
  ],
  "a field that changes later leaves its parameter alone": [
    "class { #text; #first; constructor(text) { this.#text = text; this.#first = () => text; } set2() { this.#text = 'new'; return [this.#text, this.#first()]; } }",
    "return new Made('old').set2();",
  ],
  "a parameter whose name means something else inside stays": [
    "class { #text; constructor(text) { this.#text = text; this.all = ['a'].map((text) => text + this.#text); } }",
    "return new Made('b').all;",
  ],
  "private methods call each other, whatever comes first": [
    "class { #sum = this.#twice(2); #twice(n) { return this.#add(n, n); } #add(a, b) { return a + b; } get sum() { return this.#sum; } }",
    "return new Made().sum;",
  ],
  "assignments into a pattern": [
    "class { #a = 1; #b = 2; swap() { [this.#a, this.#b] = [this.#b, this.#a]; return [this.#a, this.#b]; } }",
    "return new Made().swap();",
  ],
  "what is local may have the name of a field": [
    "class { #text = 'field'; both(text) { const self = text; return [self, this.#text]; } }",
    "return new Made().both('local');",
  ],
};

for (const [what, [made, use]] of Object.entries(CASES)) {
  test(`flat: ${what}`, () => {
    const { asWritten, flattened, code } = both(made, use);
    expect(flattened).toEqual(asWritten);
    expect(code).not.toMatch(/\bclass\b|#/);
  });
}

test("flat: an async method is one", async () => {
  const made =
    "class { async #late(n) { return n + 1; } async ask(n) { return await this.#late(n); } }";
  const { flattened } = both(made, "return new Made().ask(1);");
  expect(await flattened).toBe(2);
});

test("flat: what extends something stays a class", () => {
  expect(flat("var Lost = class extends Error {};new Lost()")).toBe(
    "var Lost = class extends Error {};new Lost()",
  );
});

for (const member of ["static a = 1", "get #a() { return 1; }", "*all() {}", "['a'] = 1"]) {
  test(`flat: ${member} is refused`, () => {
    expect(() => flat(`var Made = class { ${member} };`)).toThrow("Nobody has thought of this");
  });
}
