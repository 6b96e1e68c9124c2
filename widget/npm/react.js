"use client";

/** The chat widget as a React component. It renders nothing: the widget adds its own element. */

import { useEffect, useRef } from "react";
import { startChat } from "./index.js";

export function KefuChat(props) {
  const { onOpen, onClose, onMessage, onDelta, onFeedback, onError, ...settings } = props;
  const events = {
    open: onOpen,
    close: onClose,
    message: onMessage,
    delta: onDelta,
    feedback: onFeedback,
    error: onError,
  };
  const chat = useRef(undefined);

  useEffect(() => {
    if (chat.current) chat.current.update(settings);
    else chat.current = startChat(settings);
  });

  useEffect(
    () => () => {
      chat.current?.stop();
      chat.current = undefined;
    },
    [],
  );

  useEffect(() => {
    const gone = new AbortController();
    for (const [name, call] of Object.entries(events)) {
      document.addEventListener(`chat-widget:${name}`, (event) => call?.(event.detail), gone);
    }
    return () => gone.abort();
  });

  return null;
}
