"""The default strategy: drops the oldest turns until the rest fits."""

from __future__ import annotations

from kefu.context.budget import Budget
from kefu.context.exchange import Conversation
from kefu.context.trim.recent import keep_recent
from kefu.context.window import Window


def fifo(conversation: Conversation, budget: Budget) -> Window:
    """Drops the oldest turns first; of the current turn, the oldest exchanges."""
    return keep_recent(conversation, budget)
