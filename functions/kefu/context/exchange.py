"""What belongs together: a tool call and its results, a question and all that follows it.

Strategies see a conversation as positions. An *exchange* is one message, or an assistant message
with tool calls and the results right behind it; a *turn* is a user message and every exchange up
to the next one. What a model's API would refuse, a result without its call or an unanswered call,
is a *hole*: it costs nothing, because it is never sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kefu.context.window import Span
from kefu.lean_typing import Protocol
from kefu.messages import Message, ToolCall

Paid = Sequence[Span]
"""Exchanges that are kept already, in order."""


class Conversation(Protocol):
    """All that a strategy may ask; spans are half open, costs are in the counter's unit."""

    @property
    def messages(self) -> Sequence[Message]: ...

    @property
    def priming(self) -> int:
        """What a prompt costs before its first message."""

    @property
    def systems(self) -> int:
        """How many messages at the start are the system prompt."""

    @property
    def head(self) -> int:
        """The same and the summary behind it, if there is one: where turns begin."""

    @property
    def current(self) -> int:
        """Where the last user message is; -1 without one."""

    @property
    def tail(self) -> int:
        """Where the last exchange starts if it has tool calls, answered or not; else the end."""

    def cost(self, start: int, stop: int) -> int:
        """Of a span that begins and ends with an exchange."""

    def exchanges_back(self, floor: int, stop: int, room: int, paid: Paid = ()) -> tuple[int, int]:
        """The earliest exchange from which all up to `stop` fit into the room, and their cost.

        `stop` itself if not even the last one fits; never before `floor`. What is paid already
        costs nothing.
        """

    def turns_back(self, floor: int, stop: int, room: int, paid: Paid = ()) -> tuple[int, int]:
        """The same by turns. What stands between the head and the first turn is a turn as well."""

    def turn_after(self, least: int, paid: Paid = ()) -> int:
        """The first turn before which `least` or more goes; the current one at the latest.

        Looks at all messages.
        """

    def holes(self, start: int, stop: int) -> Sequence[Span]:
        """Of a span that one of the above has looked at."""

    def later_systems(self) -> Sequence[int]:
        """Every system message behind the head, in order. Looks at all messages."""

    def pinned(self) -> Iterator[int]:
        """Every other message behind the head that is pinned, the newest first.

        Looks at no more messages than it takes to find those that are asked for.
        """

    def exchange(self, at: int) -> Span:
        """The one that the message at this position is in; empty for a hole."""


class Pairing:
    """The calls of one assistant message, of which some have been answered."""

    __slots__ = ("_waiting",)

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        self._waiting: Counter[str | None] = Counter(call.id for call in calls)

    def answer(self, call_id: str | None) -> bool:
        """Whether this result is one that was waited for."""
        if not self.awaits(call_id):
            return False
        self._waiting[call_id] -= 1
        return True

    def awaits(self, call_id: str | None) -> bool:
        return self._waiting[call_id] > 0

    @property
    def complete(self) -> bool:
        return not any(self._waiting.values())


def calls_tools(message: Message) -> bool:
    return bool(message.tool_calls) and message.role == "assistant" and not message.summary


def starts_turn(message: Message) -> bool:
    return message.role == "user" and not message.summary


def extent_of_head(messages: Sequence[Message]) -> Span:
    """How many messages at the start are the system prompt, and with the summary behind it."""
    systems = 0
    while systems < len(messages) and messages[systems].role == "system":
        systems += 1
    head = systems
    while head < len(messages) and messages[head].summary:
        head += 1
    return systems, head
