"""Trims a conversation that is too long for the model: one function per strategy, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kefu.context.budget import Budget
from kefu.context.conversation import Conversation, CountedOnce
from kefu.context.cost import CALIBRATED, CHARACTERS, MessageCounter
from kefu.context.trim.recent import fifo, keep_important, sliding_window
from kefu.context.trim.v1 import v1
from kefu.context.window import Window, window_of
from kefu.messages import Message

Strategy = Callable[[Conversation, Budget], Window]
"""A function that selects the messages to keep within a budget.

A strategy changes no message, and raises nothing for a small budget: `Window.over_budget`."""

STRATEGIES: dict[str, Strategy] = {
    "fifo": fifo,
    "sliding_window": sliding_window,
    "keep_important": keep_important,
    "v1": v1,
}
"""The strategies by name. `summary` is a pipeline: see `stages`."""


def window_for(
    messages: Sequence[Message] | Sequence[Mapping[str, object]],
    budget: Budget,
    strategy: str = "fifo",
    counter: MessageCounter = CALIBRATED,
    *,
    kept_from: int = 0,
) -> Window:
    """Trims a conversation of own messages, with the current user message in it, to the budget.

    Messages of chat completions become own messages: see `Message.of`. `strategy` is a key of
    `STRATEGIES`; KeyError for any other. `fifo` and `sliding_window` count only the messages that
    are kept. Other strategies read every message. `kept_from` is the start of this conversation's
    previous window.

    Example: `window_for(messages, Budget.for_model("gpt-4o")).messages`.
    """
    own = own_messages(messages)
    rule, costs = STRATEGIES[strategy], CountedOnce(own.__getitem__, counter)
    whole = _whole(own, budget, counter, costs)
    return whole or rule(Conversation(own, costs, counter.priming, kept_from), budget)


def _whole(
    messages: Sequence[Message],
    budget: Budget,
    counter: MessageCounter,
    costs: CountedOnce[Message],
) -> Window | None:
    """The window of a conversation that fits, as every strategy gives it.

    None also for a conversation with tools, which may have holes, and for a conversation that must
    be read for `max_messages`.
    """
    tokens, room = counter.priming, budget.room
    if budget.max_messages or len(messages) > room:  # nearly every message has a token
        return None
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.role == "tool" or message.tool_calls or tokens > room:
            return None
        tokens += costs[at]
    if tokens > room:
        return None
    return window_of(messages, [(0, len(messages))], (), tokens, room)


def truncate_v1(
    messages: Sequence[Message] | Sequence[Mapping[str, object]], max_chars: int = 6000
) -> Window:
    """Trims by the strategy `v1`, with a limit in characters instead of tokens.

    `max_chars` limits the UTF-16 code units of all contents, the system prompt included. A
    conversation of exactly `max_chars` is not trimmed. A trimmed one is shorter than `max_chars`.
    """
    own = own_messages(messages)
    costs = CountedOnce(own.__getitem__, CHARACTERS)
    return v1(Conversation(own, costs), Budget(max_chars, reserve=0))


def are_own(messages: Sequence[object]) -> bool:
    """Whether the messages are `kefu.context.Message`, judged by the first and the last."""
    if not messages:
        return True
    return isinstance(messages[0], Message) and isinstance(messages[len(messages) - 1], Message)


def own_messages(messages: Sequence[Any]) -> Sequence[Message]:
    """The messages, or own messages for those of chat completions. Raises TypeError for others."""
    return messages if are_own(messages) else [*map(Message.of, messages)]
