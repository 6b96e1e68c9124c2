"""What to leave out when a conversation is too long: one function per strategy, found by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kefu.context.budget import Budget
from kefu.context.cost import CALIBRATED, CHARACTERS, MessageCounter
from kefu.context.exchange import Conversation
from kefu.context.trim.fifo import fifo
from kefu.context.trim.keep_important import keep_important
from kefu.context.trim.sliding_window import sliding_window
from kefu.context.trim.summary import Summarize, summary
from kefu.context.trim.v1 import v1
from kefu.context.walk import Walk
from kefu.context.window import Window
from kefu.messages import Message

Strategy = Callable[[Conversation, Budget], Window]
"""Decides by position what stays; plans, changes nothing, never raises for lack of room."""

STRATEGIES: dict[str, Strategy] = {
    "fifo": fifo,
    "sliding_window": sliding_window,
    "keep_important": keep_important,
    "v1": v1,
}


def trim_messages(
    messages: Sequence[Message],
    budget: Budget,
    strategy: str = "fifo",
    counter: MessageCounter = CALIBRATED,
) -> Window:
    """What of a whole conversation, the current user message included, goes to the model.

    From the newest backwards: a long conversation costs no more than what is kept of it (with
    `fifo` and `sliding_window`, and without a `cut_step`; the others look at every message).
    """
    return STRATEGIES[strategy](Walk(messages, counter, counter.priming), budget)


async def trim_with_summary(
    messages: Sequence[Message],
    budget: Budget,
    summarize: Summarize,
    counter: MessageCounter = CALIBRATED,
) -> Window:
    """The same with an AI summary of what is left out; see `summary`."""
    return await summary(Walk(messages, counter, counter.priming), budget, summarize, counter)


def truncate_v1(messages: Sequence[Message], max_chars: int = 6000) -> Window:
    """The rule of `v1` in characters: UTF-16 units of all contents, the system prompt included.

    Exactly `max_chars` is not too long, but a cut that lands exactly there goes one turn further.
    """
    return v1(Walk(messages, CHARACTERS), Budget(max_chars, reserve=0))


__all__ = [
    "STRATEGIES",
    "Strategy",
    "Summarize",
    "summary",
    "trim_messages",
    "trim_with_summary",
    "truncate_v1",
]
