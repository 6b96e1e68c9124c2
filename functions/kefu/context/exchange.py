"""The interface through which trimming strategies see a conversation.

A strategy works with positions of messages. Terms:

- An *exchange* is one message, or an assistant message with tool calls and their results.
- A *turn* is a user message and all exchanges up to the next user message.
- A *hole* is a tool result without its call, or a tool call without all of its results. A model's
  API refuses a hole, so it is never sent, and its cost is 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from kefu.context.window import Span
from kefu.messages import Message, ToolCall

Paid = Sequence[Span]
"""Spans of exchanges whose tokens are already in the budget, in order of position."""


class Conversation(Protocol):
    """The questions that a strategy may ask about a conversation.

    Spans are half open: `(start, stop)` excludes `stop`. Costs are in the counter's unit, tokens as
    a rule.
    """

    @property
    def messages(self) -> Sequence[Message]:
        """All messages, oldest first."""

    @property
    def priming(self) -> int:
        """The tokens that the chat format adds once per prompt."""

    @property
    def systems(self) -> int:
        """The number of system messages at the start: they are the system prompt."""

    @property
    def head(self) -> int:
        """The position after the system prompt and the summary: the first turn starts here."""

    @property
    def current(self) -> int:
        """The position of the last user message; -1 if there is none."""

    @property
    def tail(self) -> int:
        """The start of the last exchange if it has tool calls, else the number of messages."""

    @property
    def kept_from(self) -> int:
        """The position from which the previous prompt was kept; 0 if it was not trimmed."""

    def cost(self, start: int, stop: int) -> int:
        """The cost of a span. The span must start and end at the border of an exchange."""

    def costs(self, spans: Iterable[Span]) -> Sequence[int]:
        """The cost of each span."""

    def exchanges_back(self, floor: int, stop: int, room: int, paid: Paid = ()) -> tuple[int, int]:
        """Returns `(start, cost)` of the longest run of exchanges before `stop` that fits `room`.

        `start` is never below `floor`; it is `stop` if no exchange fits. Exchanges in `paid` cost
        nothing.
        """

    def turns_back(self, floor: int, stop: int, room: int, paid: Paid = ()) -> tuple[int, int]:
        """Like `exchanges_back`, for whole turns.

        Messages between `head` and the first user message count as a turn.
        """

    def turns(self, start: int, stop: int) -> Sequence[int]:
        """The positions of the user messages in a span, in order."""

    def holes(self, start: int, stop: int) -> Sequence[Span]:
        """The holes in a span, in order. Pass the span to a method above first."""

    def later_systems(self) -> Sequence[int]:
        """The positions of the system messages after `head`, in order. Reads every message."""

    def pinned(self) -> Iterator[int]:
        """The positions of the pinned messages after `head`, newest first; no system messages.

        The positions are found lazily: older messages are read only as they are requested.
        """

    def exchange(self, at: int) -> Span:
        """The span of the exchange that contains this position; an empty span for a hole."""


class Pairing:
    """The tool calls of one assistant message, and which of them have no result yet."""

    __slots__ = ("_waiting",)

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        self._waiting: Counter[str | None] = Counter(call.id for call in calls)

    def answer(self, call_id: str | None) -> bool:
        """Record a result; False if no call with this id is waiting for one."""
        waiting = self._waiting.get(call_id, 0)
        if not waiting:
            return False
        self._waiting[call_id] = waiting - 1
        return True

    def awaits(self, call_id: str | None) -> bool:
        """Whether a call with this id has no result yet."""
        return self._waiting[call_id] > 0

    @property
    def complete(self) -> bool:
        """Whether every call has its result."""
        return not any(self._waiting.values())


def calls_tools(message: Message) -> bool:
    """Whether the message is one of the assistant with tool calls."""
    return bool(message.tool_calls) and message.role == "assistant" and not message.summary


def starts_turn(message: Message) -> bool:
    """Whether the message is one of the user. A summary has the role `user`, but starts no turn."""
    return message.role == "user" and not message.summary


def extent_of_head(messages: Sequence[Message]) -> Span:
    """Returns `(systems, head)` as in `Conversation`: the ends of system prompt and summary."""
    systems = 0
    while systems < len(messages) and messages[systems].role == "system":
        systems += 1
    head = systems
    while head < len(messages) and messages[head].summary:
        head += 1
    return systems, head
