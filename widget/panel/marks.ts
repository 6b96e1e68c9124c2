/** Marks the words of a search in an opened chat, without a change of its elements. */

const NAME = "found";
/** Letters that other forms of a word may lack at its end. */
const ENDING = 2;
const LONG = 5;
const LETTER = "[\\p{L}\\p{M}\\p{N}]";
/** Scripts whose words stand between spaces, and have forms. */
const HAS_FORMS = /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}]+$/u;

/** The searched words and roughly their other forms; undefined for a search without words. */
export function formsOf(search: string): RegExp | undefined {
  const words = search.split(new RegExp(`[^${LETTER.slice(1, -1)}]+`, "u")).filter(Boolean);
  const forms = words.map((word) => {
    if (!HAS_FORMS.test(word)) return word;
    const isLong = word.length >= LONG && !/\d/.test(word);
    const rest = isLong ? `${word.slice(0, -ENDING)}${LETTER}*` : `${word}(?!${LETTER})`;
    return `(?<!${LETTER})${rest}`;
  });
  return forms.length ? new RegExp(forms.join("|"), "giu") : undefined;
}

/** Marks the words below `node`, and scrolls to the first, if the browser has highlights. */
export function markFound(node: Element, search: string): void {
  if (!("highlights" in CSS)) return;
  const forms = formsOf(search);
  const ranges = forms ? rangesOf(node, forms) : [];
  CSS.highlights.set(NAME, new Highlight(...ranges));
  ranges[0]?.startContainer.parentElement?.scrollIntoView({ block: "center" });
}

function rangesOf(node: Element, forms: RegExp): Range[] {
  const ranges: Range[] = [];
  for (const text of node.querySelectorAll(".bubble .text")) {
    const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    for (let at = walker.nextNode(); at; at = walker.nextNode()) {
      for (const { 0: word, index } of (at.nodeValue ?? "").matchAll(forms)) {
        const range = new Range();
        range.setStart(at, index);
        range.setEnd(at, index + word.length);
        ranges.push(range);
      }
    }
  }
  return ranges;
}
