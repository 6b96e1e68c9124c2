import type { ChatSettings, EventDetails } from "./index.js";

export interface KefuChatProps extends ChatSettings {
  onOpen?: (() => void) | undefined;
  onClose?: (() => void) | undefined;
  /** A question, or a finished answer. */
  onMessage?: ((detail: EventDetails["message"]) => void) | undefined;
  /** Text of an answer as it arrives. */
  onDelta?: ((detail: EventDetails["delta"]) => void) | undefined;
  onFeedback?: ((detail: EventDetails["feedback"]) => void) | undefined;
  onError?: ((detail: EventDetails["error"]) => void) | undefined;
}

/** The chat widget of the page. Use it once, in the outermost component. */
export function KefuChat(props: KefuChatProps): null;
