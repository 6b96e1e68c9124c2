"""P18: the newest turns of a history that fit a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.context import CALIBRATED, Budget, trim_messages
from kefu.hooks.hook import Given, Hook, Visit, whole_number
from kefu.messages import Message


class TokenBudget(Hook):
    """Options: `tokens` (2000)."""

    def __init__(self, given: Given) -> None:
        self._budget = Budget(whole_number(given.options, "tokens", 2000), reserve=0)

    async def history(self, history: Sequence[Message], visit: Visit) -> Sequence[Message]:
        # The end of a conversation always stays; an empty question takes that place.
        talk = (*history, Message("user", ""))
        return trim_messages(talk, self._budget, "fifo", CALIBRATED).messages[:-1]
