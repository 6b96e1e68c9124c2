"""A strategy that keeps pinned messages and drops the oldest turns around them."""

from __future__ import annotations

from kefu.context.budget import Budget
from kefu.context.conversation import Conversation
from kefu.context.trim.recent import keep_recent
from kefu.context.window import Window


def keep_important(conversation: Conversation, budget: Budget) -> Window:
    """Keeps the pinned messages that fit, newest first, then the newest turns.

    A pinned tool call or result is kept with its whole exchange. System messages after the system
    prompt are always kept, even if they exceed the budget.
    """
    tail, asked = conversation.open_calls, conversation.asked
    systems = [(at, at + 1) for at in conversation.later_systems() if at < tail]
    pins = (span for span in conversation.pinned_exchanges(tail) if span not in asked)
    return keep_recent(conversation, budget, always=systems, wanted=pins)
