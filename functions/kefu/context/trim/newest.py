"""The strategies that keep the newest turns: `fifo`, the default, and `sliding_window`."""

from __future__ import annotations

from kefu.context.budget import Budget
from kefu.context.conversation import Conversation
from kefu.context.trim.recent import keep_recent
from kefu.context.window import Window


def fifo(conversation: Conversation, budget: Budget) -> Window:
    """Drops the oldest turns first; of the current turn, the oldest exchanges."""
    return keep_recent(conversation, budget)


def sliding_window(conversation: Conversation, budget: Budget) -> Window:
    """Keeps at most N messages in whole turns, so there may be fewer than N.

    Without `max_messages` it equals `fifo`. With a `trim_step`, the start of the window moves in
    steps of that fraction of N.
    """
    floor = 0
    if budget.max_messages:
        step = max(1, int(budget.trim_step * budget.max_messages))
        excess = len(conversation.messages) - conversation.first_turn - budget.max_messages
        floor = conversation.first_turn + max(0, -(-excess // step) * step)
    return keep_recent(conversation, budget, floor=floor)
