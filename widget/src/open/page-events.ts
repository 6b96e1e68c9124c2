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

/** In the capture phase, in which events of the document come by the window, too. */
export function listen(events: PageEvents, signal: AbortSignal): void {
  const on = (type: string, act: (event: Event) => void): void =>
    addEventListener(type, act, { capture: true, signal });
  on("online", events.online);
  on("offline", events.offline);
  on("pagehide", events.left);
  on("pageshow", events.woken);
  on("focus", events.woken);
  on("resume", events.woken);
  on("visibilitychange", () => {
    events.woken();
    if (document.hidden) events.hidden();
  });
}
