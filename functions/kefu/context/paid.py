"""The cost of spans of a running conversation without the messages that are paid for already."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

from kefu.context.exchange import Conversation, Paid


def between(spans: Paid, floor: int, stop: int) -> Paid:
    """The spans that may overlap the positions from `floor` to `stop`."""
    first = max(0, bisect_left(spans, (floor, 0)) - 1)
    return spans[first : bisect_left(spans, (stop, 0))]


class PaidSpans:
    """The spans that are already paid for; finds their cost within another span in O(log n)."""

    __slots__ = ("_cost", "_spans", "_sums")

    def __init__(self, conversation: Conversation, paid: Paid) -> None:
        self._cost = conversation.cost
        self._spans = paid
        self._sums = [0, *accumulate(conversation.costs(paid))]

    def __bool__(self) -> bool:
        return bool(self._spans)

    def within(self, start: int, stop: int) -> int:
        """The cost of the paid spans inside this span."""
        spans = self._spans
        first, end = bisect_left(spans, (start, 0)), bisect_left(spans, (stop, 0))
        total = self._sums[end] - self._sums[first]
        # A paid span may overlap the start of this span, and another one its end.
        if first and spans[first - 1][1] > start:
            total += self._cost(start, min(stop, spans[first - 1][1]))
        if end > first and spans[end - 1][1] > stop:
            total -= self._cost(stop, spans[end - 1][1])
        return total
