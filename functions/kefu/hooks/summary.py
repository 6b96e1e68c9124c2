"""P20: what does not fit a number of tokens is told in short, by the model."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.context import CALIBRATED, Budget, trim_with_summary
from kefu.hooks.hook import Given, Hook, Visit, whole_number
from kefu.messages import Message


class Summary(Hook):
    """Options: `tokens` (2000)."""

    def __init__(self, given: Given) -> None:
        self._budget = Budget(whole_number(given.options, "tokens", 2000), reserve=0)
        self._summarize = given.summarize

    async def history(self, history: Sequence[Message], visit: Visit) -> Sequence[Message]:
        talk = (*history, Message("user", ""))
        window = await trim_with_summary(talk, self._budget, self._summarize, CALIBRATED)
        return window.messages[:-1]
