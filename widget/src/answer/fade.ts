/** Tables and code that scroll sideways fade out at the edges behind which there is more. */

/** The width of the fade, in pixels. */
const FADE_PX = 28;

/** Keeps the fade of `node` up to date, until the node is removed. */
export function fade(node: HTMLElement): void {
  const show = (): void => {
    const hidden = node.scrollWidth - node.clientWidth;
    // Without a change of style here, the next measurement needs no layout.
    node.classList.toggle("fades", hidden > 1);
    if (hidden <= 1) return;
    const isRtl = getComputedStyle(node).direction === "rtl";
    // From right to left, the position is 0 at the start and negative after it.
    const left = isRtl ? hidden + node.scrollLeft : node.scrollLeft;
    // Positions are rounded: at an end, a pixel may be left.
    const width = (cut: number): string => `${cut > 1 ? Math.min(cut, FADE_PX) : 0}px`;
    node.style.setProperty("--fade-left", width(left));
    node.style.setProperty("--fade-right", width(hidden - left));
  };
  node.addEventListener("scroll", show, { passive: true });
  new ResizeObserver(show).observe(node);
}
