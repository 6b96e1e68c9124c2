/** Stops the waiting dots while text arrives: their animation would add to the work of each frame. */

/** After this time without text, an answer counts as paused. */
const PAUSE_MS = 400;

/** Watches the answers of `log`, below which the `dots` are shown. */
export function calm(dots: Element, log: Element): void {
  let pause: ReturnType<typeof setTimeout> | undefined;
  const watcher = new MutationObserver((changes) => {
    // The dots themselves are added to a turn, beside its answer.
    if (!changes.some(({ target }) => target.parentElement?.closest(".answer"))) return;
    clearTimeout(pause);
    pause = setTimeout(() => dots.classList.remove("still"), PAUSE_MS);
    dots.classList.add("still");
  });
  watcher.observe(log, { subtree: true, childList: true, characterData: true });
}
