/** Changes the last question: after ↑ in the empty text field, it stands there to be written anew. */

import type { Feature, Kit } from "../../answer/feature.ts";
import type { ChatActs } from "../../open/chat-acts.ts";
import { isClick, type Turn } from "../../open/turn.ts";
import { isComposing } from "../../open/view/composer.ts";
import { adopt, button, element } from "../../open/view/dom.ts";
import { CLOSE, icon } from "../../open/view/icons.ts";
import stylesheet from "./edit.css";

/** In English. */
export const ENGLISH = {
  editing: "You are changing your last question",
  /** The label of the button that leaves the question as it was. */
  discard: "Leave it as it was",
};

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<typeof ENGLISH> {}
}

/** Whether the question of the last turn may be replaced, unlike a message to a person or a click on a card. */
function mayChange(turn: Turn): boolean {
  const { id, question, answer, ending, person } = turn;
  const isToPerson = !answer && ending === "whole";
  return !!id && !!question && !person && !isToPerson && ending !== "open" && !isClick(turn);
}

export default function edit({ root, texts, speak, tell }: Kit): Feature {
  adopt(root, stylesheet);
  const words = { ...ENGLISH, ...texts };
  const start = (form: HTMLElement, input: HTMLTextAreaElement, chat: ChatActs): void => {
    /** The turn whose question is changed. */
    let turn: Turn | undefined;
    const write = (text: string): void => {
      input.value = text;
      input.dispatchEvent(new Event("input"));
    };
    /** `isSent`: the question is replaced. */
    const end = (isSent = false): void => {
      const isDiscarded = turn && !isSent;
      turn = undefined;
      note.remove();
      if (isDiscarded) tell("editing");
    };
    const discard = (): void => {
      write("");
      end();
      input.focus();
    };
    const look = { className: "tool", ariaLabel: words.discard, title: words.discard };
    const note = element(
      "p",
      { className: "editing" },
      words.editing,
      button(look, discard, icon(CLOSE)),
    );
    const begin = (last: Turn): void => {
      turn = last;
      form.before(note);
      write(last.question);
      tell("editing", last);
      input.setSelectionRange(input.value.length, input.value.length);
      speak(words.editing);
    };
    /** Whether the question can still be replaced: the page may have sent another one meanwhile. */
    const isOn = (): boolean => !!turn && chat.turns().at(-1) === turn && mayChange(turn);
    const send = (event: Event): void => {
      if (!isOn()) {
        end();
        return;
      }
      // The composer does not send it as another question.
      event.preventDefault();
      event.stopImmediatePropagation();
      const text = input.value.trim();
      if (!text) return;
      const old = root?.querySelector(".turn:last-child");
      end(true);
      write("");
      chat.send(text, undefined, true);
      if (!old?.matches(":last-child")) old?.remove();
    };
    const pressed = (event: KeyboardEvent): void => {
      const { key, shiftKey } = event;
      if (isComposing(event) || event.target !== input) return;
      const last = chat.turns().at(-1);
      if (turn && key === "Enter" && !shiftKey) send(event);
      else if (turn && key === "Escape") {
        // The panel stays open.
        event.stopPropagation();
        discard();
      } else if (key === "ArrowUp" && !input.value && last && mayChange(last)) {
        event.preventDefault();
        begin(last);
      }
    };
    form.addEventListener("keydown", pressed, { capture: true });
    form.addEventListener("submit", (event) => turn && send(event), { capture: true });
    input.addEventListener("input", () => input.value || end());
  };
  return {
    menu: (_items, chat) => {
      const form = root?.querySelector<HTMLElement>(".composer");
      const input = form?.querySelector("textarea");
      if (form && input) start(form, input, chat);
    },
  };
}
