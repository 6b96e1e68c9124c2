"""What to leave out when a conversation is too long: one function per strategy, found by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kefu.context.trim.v1 import truncate_v1
from kefu.context.trim.window import Window
from kefu.messages import Message

Strategy = Callable[[Sequence[Message], int], Window]
"""Takes the messages and a limit, in the strategy's own unit; plans, changes nothing."""

STRATEGIES: dict[str, Strategy] = {"v1": truncate_v1}

__all__ = ["STRATEGIES", "Strategy", "Window", "truncate_v1"]
