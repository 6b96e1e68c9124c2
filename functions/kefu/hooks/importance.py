"""P19: turns that name what matters stay, while others of their age go."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.context import CALIBRATED, Budget, trim_messages
from kefu.hooks.hook import Given, Hook, Visit, texts, whole_number
from kefu.messages import Message

_WORDS = ("order", "订单", "refund", "退款", "phone", "电话", "address", "地址", "email", "邮箱")


class Importance(Hook):
    """Options: `tokens` (2000), `words` that mark a turn as important, in any case."""

    def __init__(self, given: Given) -> None:
        self._budget = Budget(whole_number(given.options, "tokens", 2000), reserve=0)
        self._words = [w.casefold() for w in texts(given.options, "words") or _WORDS]

    async def history(self, history: Sequence[Message], visit: Visit) -> Sequence[Message]:
        pinned = [message._replace(pinned=matters) for message, matters in self._marked(history)]
        talk = (*pinned, Message("user", ""))
        window = trim_messages(talk, self._budget, "keep_important", CALIBRATED)
        return [message._replace(pinned=False) for message in window.messages[:-1]]

    def _marked(self, history: Sequence[Message]) -> list[tuple[Message, bool]]:
        """A question with what matters in it keeps its answer, and an answer its question."""
        turns: list[list[Message]] = []
        for message in history:
            if message.role == "user" or not turns:
                turns.append([])
            turns[-1].append(message)
        return [
            (message, any(self._matters(one) for one in turn)) for turn in turns for message in turn
        ]

    def _matters(self, message: Message) -> bool:
        text = message.content.casefold()
        return any(word in text for word in self._words)
