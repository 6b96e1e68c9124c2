"""P24: the commands that a visitor can type instead of a question."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.messages import Message
from kefu.sessions.hooks.hook import BadOptions, Hook, HookConfig, HookContext, Reply

CLEAR_COMMAND, HELP_COMMAND = "/clear", "/help"

_CLEARED = "好的，之前的内容我不再参考。\nDone: I no longer look at what was said before."
_HELP = (
    "/clear 不再参考之前的内容 · forget what was said before\n/help 显示本说明 · show these lines"
)


class Commands(Hook):
    """Replies to messages that are `/clear` or `/help`. Options: `cleared` and `help`, the replies.

    The messages before a `/clear` stay in the chat, but they are not sent to the model.
    """

    def __init__(self, config: HookConfig) -> None:
        self._answers = {
            CLEAR_COMMAND: Reply(_text(config, "cleared", _CLEARED)),
            HELP_COMMAND: Reply(_text(config, "help", _HELP)),
        }

    async def user_message(self, text: str, visit: HookContext) -> str:
        return self._answers.get(text.lower(), text)

    async def history(self, history: Sequence[Message], visit: HookContext) -> Sequence[Message]:
        shown: list[Message] = []
        command = ""
        for message in history:
            if message.role == "user":
                command = message.content.lower()
            if command == CLEAR_COMMAND:
                shown.clear()
            elif command != HELP_COMMAND:
                shown.append(message)
        return shown


def _text(config: HookConfig, name: str, default: str) -> str:
    value = config.options.get(name, default)
    if not isinstance(value, str) or not value.strip():
        raise BadOptions(f"{name} must be a text")
    return value
