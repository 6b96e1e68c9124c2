/** Marks the words of a search in an opened chat, without a change of its elements. */

const NAME = "found";
/** Letters that the other forms of a word may lack at its end. */
const ENDING = 2;
const LONG = 5;
/** Chinese, Japanese and Korean words have one form. */
const HAS_FORMS = /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]+$/u;

/** The beginnings of the searched words, in lower case. */
export function beginnings(search: string): string[] {
  return search
    .toLowerCase()
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter(Boolean)
    .map((word) => (HAS_FORMS.test(word) && word.length >= LONG ? word.slice(0, -ENDING) : word));
}

/** Marks the words below `node`, and scrolls to the first one. Browsers without highlights do not. */
export function markFound(node: Element, search: string): void {
  if (!("highlights" in CSS)) return;
  const ranges = search ? rangesOf(node, beginnings(search)) : [];
  CSS.highlights.set(NAME, new Highlight(...ranges));
  ranges[0]?.startContainer.parentElement?.scrollIntoView({ block: "center" });
}

function rangesOf(node: Element, words: readonly string[]): Range[] {
  const ranges: Range[] = [];
  for (const text of node.querySelectorAll(".bubble .text")) {
    const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    for (let at = walker.nextNode(); at; at = walker.nextNode()) {
      const content = (at.nodeValue ?? "").toLowerCase();
      // A few letters change their length in lower case: the places would be wrong.
      if (content.length !== at.nodeValue?.length) continue;
      for (const word of words) {
        for (
          let place = content.indexOf(word);
          place >= 0;
          place = content.indexOf(word, place + 1)
        ) {
          const range = new Range();
          range.setStart(at, place);
          range.setEnd(at, place + word.length);
          ranges.push(range);
        }
      }
    }
  }
  return ranges.sort((one, other) => one.compareBoundaryPoints(Range.START_TO_START, other));
}
