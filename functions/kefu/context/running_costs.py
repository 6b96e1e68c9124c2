"""The costs of a conversation that grows: each message is counted once, when it is added."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping

from kefu.context.conversation import Pairing, calls_tools
from kefu.context.window import Span, Window
from kefu.messages import Message


class RunningCosts(Mapping[int, int]):
    """The cost of each message by position, corrected by the provider's count.

    Memory: eight bytes per message (sums of the costs from the start).
    """

    __slots__ = ("_calls_at", "_corrected", "_measured", "_pairing", "_sums", "holes")

    def __init__(self) -> None:
        self._sums = array("q", [0])
        self._corrected = 0
        """The number of messages whose costs are corrected."""
        self._measured = (1, 1)
        self.holes: list[Span] = []
        """Results without a call, and calls without all results: they are never sent."""
        self._calls_at = -1
        """The position of the tool calls at the end; -1 if the end has none."""
        self._pairing: Pairing | None = None

    def __len__(self) -> int:
        return len(self._sums) - 1

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __getitem__(self, at: int) -> int:
        if at >= self._corrected:
            return self._sums[at + 1] - self._sums[at]
        return self.cost(at, at + 1)

    def cost(self, start: int, stop: int) -> int:
        """The cost of a span, holes included."""
        return self._up_to(stop) - self._up_to(start)

    def _up_to(self, at: int) -> int:
        (tokens, counted), sums = self._measured, self._sums
        border = min(at, self._corrected)
        return sums[border] * tokens // counted + sums[at] - sums[border]

    @property
    def used(self) -> int:
        """The cost of all messages that may be sent."""
        return self.cost(0, len(self)) - sum(self.cost(*hole) for hole in self.holes)

    def add(self, message: Message, cost: int) -> None:
        at = len(self)
        if message.role != "tool":
            self._end_calls()
            if calls_tools(message):
                self._calls_at, self._pairing = at, Pairing(message.tool_calls)
        elif self._pairing is None or not self._pairing.answer((message.tool_call_id, "")):
            self.holes.append((at, at + 1))
        self._sums.append(self._sums[-1] + cost)

    def after(self, message: Message, cost: int) -> int:
        """The cost of the whole conversation after adding this message, which costs `cost`."""
        pairing = self._pairing
        if message.role == "tool":
            awaited = pairing is not None and pairing.awaits(message.tool_call_id)
            return self.used + (cost if awaited else 0)
        if pairing is None or pairing.complete:
            return self.used + cost
        start, stop = self._calls_at, len(self)
        unsent = sum(self.cost(*hole) for hole in self.holes if hole[0] >= start)
        return self.used - (self.cost(start, stop) - unsent) + cost

    def _end_calls(self) -> None:
        """End the tool calls at the end. If a result is missing, they are a hole."""
        if self._pairing is not None and not self._pairing.complete:
            self.holes = [hole for hole in self.holes if hole[0] < self._calls_at]
            self.holes.append((self._calls_at, len(self)))
        self._calls_at, self._pairing = -1, None

    def counted(self, window: Window) -> int:
        """The counter's cost of a new window of all messages, without any correction."""
        sums = self._sums
        return sums[-1] - sum(sums[stop] - sums[start] for start, stop, _ in window.left_out)

    def correct(self, tokens: int, counted: int) -> None:
        """Scale the costs of all messages so far by `tokens / counted`.

        `tokens` is the provider's count of a prompt, `counted` the counter's. All messages are
        scaled alike, because the provider reports no count per message.
        """
        self._corrected, self._measured = len(self), (tokens, counted)
