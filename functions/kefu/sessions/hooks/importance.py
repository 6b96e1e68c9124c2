"""P19: trims the history, but keeps turns with important words longer than other turns."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.context import CALIBRATED, Budget, window_for
from kefu.messages import Message
from kefu.sessions.hooks.hook import Hook, HookConfig, HookContext, texts, whole_number

_WORDS = ("order", "订单", "refund", "退款", "phone", "电话", "address", "地址", "email", "邮箱")


class Importance(Hook):
    """Trims the history to a number of tokens.

    Options: `tokens` (default: 2000) and `words` that mark a turn as important, in any case.
    """

    def __init__(self, config: HookConfig) -> None:
        self._budget = Budget(whole_number(config.options, "tokens", 2000), reserve=0)
        self._words = [w.casefold() for w in texts(config.options, "words") or _WORDS]

    async def history(self, history: Sequence[Message], visit: HookContext) -> Sequence[Message]:
        pinned = [
            message._replace(pinned=important) for message, important in self._marked(history)
        ]
        conversation = (*pinned, Message("user", ""))
        window = window_for(conversation, self._budget, "keep_important", CALIBRATED)
        return [message._replace(pinned=False) for message in window.messages[:-1]]

    def _marked(self, history: Sequence[Message]) -> list[tuple[Message, bool]]:
        """Each message, and whether its turn is important."""
        turns: list[list[Message]] = []
        for message in history:
            if message.role == "user" or not turns:
                turns.append([])
            turns[-1].append(message)
        return [(message, any(map(self._is_important, turn))) for turn in turns for message in turn]

    def _is_important(self, message: Message) -> bool:
        text = message.content.casefold()
        return any(word in text for word in self._words)
