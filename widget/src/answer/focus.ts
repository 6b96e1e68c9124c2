/** Dialogs of the page. */

/**
 * Until `gone` is aborted, no dialog of the page sees that the panel gets the focus: it would take it
 * back, and nobody could write to the chat beside it.
 */
export function keepFocus(panel: Element, gone: AbortSignal): void {
  for (const type of ["focus", "focusin"]) {
    const hide = (event: Event): void => {
      if (event.target !== event.currentTarget && panel.matches(":focus-within"))
        event.stopPropagation();
    };
    // Dialogs listen at the document, some of them in the capture phase.
    addEventListener(type, hide, { capture: true, signal: gone });
  }
}
