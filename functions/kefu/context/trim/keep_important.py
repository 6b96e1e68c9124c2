"""What the user or the service has pinned stays; the oldest turns go around it."""

from __future__ import annotations

from collections.abc import Iterator

from kefu.context.budget import Budget
from kefu.context.exchange import Conversation
from kefu.context.trim.recent import keep_recent
from kefu.context.window import Span, Window


def keep_important(talk: Conversation, budget: Budget) -> Window:
    """Pinned messages first, the newest of them before the older: those that fit.

    With a pinned tool call or result stays its whole group. System messages behind the prompt are
    the service's own pins: they stay like the prompt itself, whether they fit or not.
    """
    systems = [(at, at + 1) for at in talk.later_systems() if at < talk.tail]
    return keep_recent(talk, budget, always=systems, wanted=_pinned_exchanges(talk))


def _pinned_exchanges(talk: Conversation) -> Iterator[Span]:
    """The newest first, each once, without those that stay anyway."""
    start = talk.tail
    for at in talk.pinned():
        if at < start and at != talk.current:
            span = talk.exchange(at)
            start = span[0]
            yield span
