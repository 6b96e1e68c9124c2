"""A strategy that keeps pinned messages and drops the oldest turns around them."""

from __future__ import annotations

from collections.abc import Iterator

from kefu.context.budget import Budget
from kefu.context.conversation import Conversation
from kefu.context.trim.recent import keep_recent
from kefu.context.window import Span, Window


def keep_important(conversation: Conversation, budget: Budget) -> Window:
    """Keeps the pinned messages that fit, newest first, then the newest turns.

    A pinned tool call or result is kept with its whole exchange. System messages after the system
    prompt are always kept, even if they exceed the budget.
    """
    tail = conversation.open_calls
    systems = [(at, at + 1) for at in conversation.later_systems() if at < tail]
    return keep_recent(conversation, budget, always=systems, wanted=_pinned_exchanges(conversation))


def _pinned_exchanges(conversation: Conversation) -> Iterator[Span]:
    """Yields the exchanges with a pinned message, newest first, but no exchange of `always`."""
    start, current = conversation.open_calls, conversation.current
    for at in conversation.pinned():
        if at < start and at != current:
            span = conversation.exchange(at)
            start = span[0]
            yield span
