"""P18 to P20: hooks that limit the history to a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.context import CALIBRATED, Budget, trim_with_summary, window_for
from kefu.messages import Message
from kefu.sessions.hooks.hook import Hook, HookConfig, HookContext, texts, whole_number

_WORDS = ("order", "订单", "refund", "退款", "phone", "电话", "address", "地址", "email", "邮箱")

_STEP = 0.5
"""The fraction of the tokens by which the summary proceeds, so that it is written rarely."""


class TokenBudget(Hook):
    """P18: drops the oldest turns. Options: `tokens` (default: 2000)."""

    def __init__(self, config: HookConfig) -> None:
        self._budget = Budget(whole_number(config.options, "tokens", 2000), reserve=0)

    async def history(self, history: Sequence[Message], visit: HookContext) -> Sequence[Message]:
        # Trimming always keeps the last question, so an empty one is appended and removed again.
        conversation = (*history, Message("user", ""))
        return window_for(conversation, self._budget, "fifo", CALIBRATED).messages[:-1]


class Importance(Hook):
    """P19: keeps turns with important words longer than other turns.

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


class Summary(Hook):
    """P20: lets the model summarize the oldest messages. Options: `tokens` (default: 2000)."""

    def __init__(self, config: HookConfig) -> None:
        tokens = whole_number(config.options, "tokens", 2000)
        self._budget = Budget(tokens, reserve=0, trim_step=_STEP)

    async def history(self, history: Sequence[Message], visit: HookContext) -> Sequence[Message]:
        if visit.summarize is None:
            return history
        conversation = (*history, Message("user", ""))
        window = await trim_with_summary(
            conversation, self._budget, visit.summarize, CALIBRATED, repeated=True
        )
        return window.messages[:-1]
