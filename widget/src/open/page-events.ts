/** Events of the page that matter to the chat: the network, sleep, and leaving. */

export interface PageEvents {
  online(): void;
  offline(): void;
  /** The page is left, or put into the browser's back/forward cache. */
  left(): void;
  /** The page is visible or resumed, or the focus has moved; timers may have been suspended. */
  woken(event?: Partial<PageTransitionEvent>): void;
  /** The page is hidden; a phone may end it without another event. */
  hidden(): void;
}

export function listen(page: Window, events: PageEvents, signal: AbortSignal): void {
  const { document } = page;
  const on = (target: EventTarget, type: string, act: (event: Event) => void): void =>
    target.addEventListener(type, act, { capture: true, signal });
  on(page, "online", events.online);
  on(page, "offline", events.offline);
  on(page, "pagehide", events.left);
  on(page, "pageshow", events.woken);
  on(page, "focus", events.woken);
  on(document, "resume", events.woken);
  on(document, "visibilitychange", () => {
    events.woken();
    if (document.hidden) events.hidden();
  });
}
