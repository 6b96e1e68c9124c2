"use client";

import "kefu-chat";

/** A button that opens the chat with a question. */
export function Ask({ question }: { question: string }) {
  return (
    <button type="button" onClick={() => window.ChatWidget?.send(question)}>
      {question}
    </button>
  );
}
