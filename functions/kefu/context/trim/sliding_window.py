"""The newest N messages: as many as the tokens allow, and never more than `max_messages`."""

from __future__ import annotations

from kefu.context.budget import Budget
from kefu.context.exchange import Conversation
from kefu.context.trim.recent import keep_recent
from kefu.context.window import Window


def sliding_window(talk: Conversation, budget: Budget) -> Window:
    """In whole turns, so there may be fewer than N; without `max_messages` it is `fifo`.

    With a `cut_step` the window's beginning moves by that part of N at a time.
    """
    floor = 0
    if budget.max_messages:
        step = max(1, int(budget.cut_step * budget.max_messages))
        excess = len(talk.messages) - talk.head - budget.max_messages
        floor = talk.head + max(0, -(-excess // step) * step)
    return keep_recent(talk, budget, floor=floor)
