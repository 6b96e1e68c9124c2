"""P24: what a visitor may type in place of a question."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.hooks.hook import BadOptions, Given, Hook, Reply, Visit
from kefu.messages import Message

CLEAR, HELP = "/clear", "/help"

_CLEARED = "好的，之前的内容我不再参考。\nDone: I no longer look at what was said before."
_HELP = (
    "/clear 不再参考之前的内容 · forget what was said before\n/help 显示本说明 · show these lines"
)


class Commands(Hook):
    """`/clear` and `/help`, alone in a message. Options: `cleared` and `help`, the two answers.

    What stands before a `/clear` stays in the chat, and the model is not told it any more.
    """

    def __init__(self, given: Given) -> None:
        self._answers = {
            CLEAR: Reply(_text(given, "cleared", _CLEARED)),
            HELP: Reply(_text(given, "help", _HELP)),
        }

    def user_message(self, text: str, visit: Visit) -> str:
        return self._answers.get(text.lower(), text)

    async def history(self, history: Sequence[Message], visit: Visit) -> Sequence[Message]:
        shown: list[Message] = []
        command = ""
        for message in history:
            if message.role == "user":
                command = message.content.lower()
            if command == CLEAR:
                shown.clear()
            elif command != HELP:
                shown.append(message)
        return shown


def _text(given: Given, name: str, default: str) -> str:
    value = given.options.get(name, default)
    if not isinstance(value, str) or not value.strip():
        raise BadOptions(f"{name} must be a text")
    return value
