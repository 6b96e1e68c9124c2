"""P20: replaces the part of the history that exceeds a number of tokens by a summary."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.context import CALIBRATED, Budget, trim_with_summary
from kefu.messages import Message
from kefu.sessions.hooks.hook import Hook, HookConfig, HookContext, whole_number

_STEP = 0.5
"""The fraction of the tokens by which the summary proceeds, so that it is written rarely."""


class Summary(Hook):
    """Lets the model summarize the oldest messages. Options: `tokens` (default: 2000)."""

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
