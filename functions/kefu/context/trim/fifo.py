"""First in, first out: the oldest turns go until the rest fits."""

from __future__ import annotations

from kefu.context.budget import Budget
from kefu.context.exchange import Conversation
from kefu.context.trim.recent import keep_recent
from kefu.context.window import Window


def fifo(talk: Conversation, budget: Budget) -> Window:
    return keep_recent(talk, budget)
