/** Shows the formulas of an answer in MathML once it is complete; those that are not read stay as written. */

import { atEnd } from "../../answer/at-end.ts";
import type { Feature, Kit } from "../../answer/feature.ts";
import { DOLLARS } from "../../answer/markdown/dollars.ts";
import { adopt, element } from "../../open/view/dom.ts";
import stylesheet from "./formulas.css";
import { formulaOf, type MathNode } from "./latex.ts";

const FORMULA = new RegExp(
  `${/\\\((.+?)\\\)|\\\[(.+?)\\\]|\$\$(.+?)\$\$/.source}|(${DOLLARS.source})`,
  "gis",
);
const NAMESPACE = "http://www.w3.org/1998/Math/MathML";

export default function formulas({ root }: Kit): Feature {
  adopt(root, stylesheet);
  return {
    changed: (node, { ending }) => {
      const answer = node.querySelector(".answer");
      if (ending === "open" || !answer) return;
      atEnd(root?.querySelector(".log"), () => {
        for (const text of textsOf(answer)) draw(text);
      });
    },
  };
}

/** The texts that are no code. */
function textsOf(answer: Element): readonly Text[] {
  const found: Text[] = [];
  const texts = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (!text.parentElement?.closest("code, math")) found.push(text as Text);
  }
  return found;
}

/** Replaces the formulas in `text`. */
function draw(text: Text): void {
  const parts: (string | Element)[] = [];
  let from = 0;
  for (const found of text.data.matchAll(FORMULA)) {
    const [all, inline = found[4]?.slice(1, -1), block = found[3]] = found;
    const formula = formulaOf(inline ?? block ?? "");
    if (!formula) continue;
    const math = elementOf({ tag: "math", kids: [formula] });
    math.setAttribute("dir", "ltr");
    if (inline === undefined) math.setAttribute("display", "block");
    const shown = inline === undefined ? element("span", { className: "formula" }, math) : math;
    parts.push(text.data.slice(from, found.index), shown);
    from = found.index + all.length;
  }
  if (from > 0) text.replaceWith(...parts, text.data.slice(from));
  for (const part of parts) {
    // One that scrolls can be scrolled by keyboard.
    const isWide = typeof part === "object" && part.scrollWidth > part.clientWidth;
    if (isWide && part instanceof HTMLElement) part.tabIndex = 0;
  }
}

function elementOf({ tag, kids, attributes = {} }: MathNode): Element {
  const made = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (typeof kids === "string") made.textContent = kids;
  else made.append(...kids.map(elementOf));
  return made;
}
