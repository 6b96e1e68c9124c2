"""P18: trims the history to the newest turns that fit a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.context import CALIBRATED, Budget, window_for
from kefu.messages import Message
from kefu.sessions.hooks.hook import Hook, HookConfig, HookContext, whole_number


class TokenBudget(Hook):
    """Drops the oldest turns. Options: `tokens` (default: 2000)."""

    def __init__(self, config: HookConfig) -> None:
        self._budget = Budget(whole_number(config.options, "tokens", 2000), reserve=0)

    async def history(self, history: Sequence[Message], visit: HookContext) -> Sequence[Message]:
        # Trimming always keeps the last question, so an empty one is appended and removed again.
        conversation = (*history, Message("user", ""))
        return window_for(conversation, self._budget, "fifo", CALIBRATED).messages[:-1]
