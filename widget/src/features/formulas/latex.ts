/**
 * Reads the part of LaTeX that answers of models have most often, as elements of MathML Core. A formula with
 * anything else is not read at all: half of a formula would be a wrong one.
 */

import {
  ACCENTS,
  DOUBLE_STRUCK,
  ENVIRONMENTS,
  FUNCTIONS,
  LARGE,
  LETTERS,
  LIMITS,
  OPERATORS,
  SPACES,
} from "./symbols.ts";

/** An element: its name, its text or its children, and its attributes. */
export interface MathNode {
  readonly tag: string;
  readonly kids: readonly MathNode[] | string;
  readonly attributes?: Readonly<Record<string, string>>;
}

const LONGEST = 2_000;
const DEEPEST = 40;

const TOKEN = /\\(?:[a-zA-Z]+|.)|\d+(?:\.\d+)?|\s+|./gsu;

/** As high as the text, and without space. */
const TIGHT = { stretchy: "false", lspace: "0", rspace: "0" };
/** The space beside the name of a function, as in LaTeX. */
const THIN = "0.17em";

class Unread extends Error {}

/** The formula; undefined if it is not read. */
export function formulaOf(source: string): MathNode | undefined {
  if (source.length > LONGEST) return undefined;
  try {
    return new Reader(source).whole();
  } catch (error) {
    if (error instanceof Unread) return undefined;
    throw error;
  }
}

function node(
  tag: string,
  kids: MathNode["kids"],
  attributes?: Readonly<Record<string, string>>,
): MathNode {
  return { tag, kids, ...(attributes && { attributes }) };
}

const row = (kids: readonly MathNode[]): MathNode =>
  kids.length === 1 ? (kids[0] as MathNode) : node("mrow", kids);
const fence = (text: string): MathNode => node("mo", text, { stretchy: "true" });
const fenced = (open: string, kid: MathNode, close: string): MathNode =>
  node("mrow", [...(open ? [fence(open)] : []), kid, ...(close ? [fence(close)] : [])]);

class Reader {
  readonly #tokens: string[];
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#tokens = source.match(TOKEN) ?? [];
  }

  whole(): MathNode {
    const kids = this.#row();
    if (this.#at < this.#tokens.length || kids.length === 0) throw new Unread();
    return node("mrow", kids);
  }

  #peek(): string | undefined {
    while (/^\s/.test(this.#tokens[this.#at] ?? "")) this.#at += 1;
    return this.#tokens[this.#at];
  }

  #next(): string {
    const token = this.#peek();
    if (token === undefined) throw new Unread();
    this.#at += 1;
    return token;
  }

  #expect(wanted: string): void {
    if (this.#next() !== wanted) throw new Unread();
  }

  /** The elements up to a token that ends a group, which stays. */
  #row(end = /^(\}|&|\\\\|\\right|\\end)$/): MathNode[] {
    const kids: MathNode[] = [];
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw new Unread();
    for (let token = this.#peek(); token !== undefined; token = this.#peek()) {
      if (end.test(token)) break;
      kids.push(this.#scripted(this.#atom()));
    }
    this.#depth -= 1;
    return kids;
  }

  /** `atom` with what stands at its right, or above and below it. */
  #scripted(atom: MathNode): MathNode {
    // The mark is a raised one already.
    const marks = this.#primes();
    const base = marks ? node("mrow", [atom, node("mo", marks, TIGHT)]) : atom;
    let sub: MathNode | undefined;
    let sup: MathNode | undefined;
    for (let token = this.#peek(); /^[_^]$/.test(token ?? ""); token = this.#peek()) {
      this.#at += 1;
      if (token === "_" && !sub) sub = this.#group();
      else if (token === "^" && !sup) sup = this.#group();
      else throw new Unread();
    }
    const isUnder = base.attributes?.movablelimits === "true";
    const [under, over, both] = isUnder
      ? ["munder", "mover", "munderover"]
      : ["msub", "msup", "msubsup"];
    if (sub && sup) return node(both as string, [base, sub, sup]);
    if (sub) return node(under as string, [base, sub]);
    return sup ? node(over as string, [base, sup]) : base;
  }

  #primes(): string {
    let primes = "";
    for (; this.#peek() === "'"; this.#at += 1) primes += "′";
    return primes;
  }

  /** One argument: a group in braces, or one element. */
  #group(): MathNode {
    const token = this.#peek() ?? "";
    if (/^\d./.test(token)) {
      // Without braces, an argument is one digit.
      this.#tokens[this.#at] = token.slice(1);
      return node("mn", token.charAt(0));
    }
    if (token !== "{") return this.#atom();
    this.#at += 1;
    const kids = this.#row();
    this.#expect("}");
    return row(kids);
  }

  /** The text of a group in braces, with its spaces. */
  #text(): string {
    this.#expect("{");
    let text = "";
    for (let token = this.#tokens[this.#at]; token !== "}"; token = this.#tokens[this.#at]) {
      if (token === undefined || /^(\{|\\[a-zA-Z]+)$/.test(token)) throw new Unread();
      text += token.replace(/^\\/, "");
      this.#at += 1;
    }
    this.#at += 1;
    return text;
  }

  #atom(): MathNode {
    const token = this.#next();
    if (token.length > 1 && token.startsWith("\\")) return this.#command(token.slice(1));
    if (token === "{") {
      this.#at -= 1;
      return this.#group();
    }
    if (/^\d/.test(token)) return node("mn", token);
    if (/^\p{L}/u.test(token)) return node("mi", token);
    if (/^[\\_^'&#%$~]$/.test(token)) throw new Unread();
    // Brackets grow only after \left and \right.
    const isBracket = /^[()[\]|]$/.test(token);
    return node("mo", token === "-" ? "−" : token, isBracket ? TIGHT : undefined);
  }

  #command(name: string): MathNode {
    const symbol = this.#symbol(name);
    if (symbol) return symbol;
    if (/^[dt]?frac$/.test(name)) return node("mfrac", [this.#group(), this.#group()]);
    if (name === "binom") {
      const kids = [this.#group(), this.#group()];
      return fenced("(", node("mfrac", kids, { linethickness: "0" }), ")");
    }
    if (name === "sqrt") return this.#root();
    if (/^(text|textbf|textit|mbox|mathrm|operatorname)$/.test(name)) {
      return node("mtext", this.#text().replace(/^ | $/g, "\u00a0"));
    }
    if (/^(mathbf|mathit|boldsymbol)$/.test(name)) return this.#group();
    if (name === "displaystyle") return node("mrow", []);
    if (name === "mathbb") {
      const letter = DOUBLE_STRUCK.get(this.#text());
      if (letter) return node("mi", letter);
    }
    const accent = ACCENTS.get(name);
    if (accent) {
      return node("mover", [this.#group(), node("mo", accent)], { accent: "true" });
    }
    if (name === "left") return this.#between();
    if (name === "begin") return this.#environment();
    // Sizes of brackets, which browsers choose themselves.
    if (/^[bB]igg?[lr]?$/.test(name)) return this.#atom();
    throw new Unread();
  }

  /** A command that is one element without arguments. */
  #symbol(name: string): MathNode | undefined {
    const letter = LETTERS.get(name);
    if (letter) return node("mi", letter);
    const operator = OPERATORS.get(name);
    if (operator) return node("mo", operator);
    const large = LARGE.get(name);
    if (large) return node("mo", large, { movablelimits: "true" });
    const width = name === " " ? "0.25" : SPACES.get(name);
    if (width) return node("mspace", [], { width: `${width}em` });
    if (FUNCTIONS.test(name)) {
      const rspace = this.#peek() === "(" ? "0" : THIN;
      return node("mo", name, { lspace: THIN, rspace });
    }
    return LIMITS.test(name) ? node("mo", name, { movablelimits: "true" }) : undefined;
  }

  #root(): MathNode {
    if (this.#peek() !== "[") return node("msqrt", [this.#group()]);
    this.#at += 1;
    const degree = row(this.#row(/^[\]}]$/));
    this.#expect("]");
    return node("mroot", [this.#group(), degree]);
  }

  /** What stands between `\left` and `\right`. */
  #between(): MathNode {
    const open = this.#bracket();
    const kids = this.#row();
    this.#expect("\\right");
    return fenced(open, row(kids), this.#bracket());
  }

  #bracket(): string {
    const token = this.#next();
    if (token === ".") return "";
    if (/^[()[\]|/<>]$/.test(token)) return token;
    const bracket = OPERATORS.get(token.slice(1));
    if (!bracket || token[0] !== "\\") throw new Unread();
    return bracket;
  }

  #environment(): MathNode {
    const name = this.#text();
    const brackets = Object.hasOwn(ENVIRONMENTS, name) ? ENVIRONMENTS[name] : undefined;
    if (!brackets) throw new Unread();
    const rows: MathNode[][] = [[]];
    for (;;) {
      rows.at(-1)?.push(node("mtd", this.#row()));
      const token = this.#next();
      if (token === "\\end") break;
      if (token === "\\\\") rows.push([]);
      else if (token !== "&") throw new Unread();
    }
    if (this.#text() !== name) throw new Unread();
    const table = node(
      "mtable",
      rows.map((cells) => node("mtr", cells)),
    );
    return fenced(brackets[0], table, brackets[1]);
  }
}
