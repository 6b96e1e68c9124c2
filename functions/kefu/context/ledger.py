"""A conversation that is kept up to date message by message: any question takes no time."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from kefu.context.exchange import Paid, Pairing, calls_tools, starts_turn
from kefu.context.window import Span
from kefu.messages import Message


class Ledger:
    """A `Conversation` that grows. Each message is counted once, when it comes.

    Beside the messages it keeps eight bytes for each, the sum up to there, and four for each turn.
    Messages are only ever appended or replaced by their like, so a `View` of them stays true.
    """

    __slots__ = (
        "_anchor",
        "_count",
        "_group",
        "_holes",
        "_later_systems",
        "_measured",
        "_pairing",
        "_pinned",
        "_sums",
        "_turns",
        "head",
        "messages",
        "priming",
        "systems",
    )

    def __init__(self, count: Callable[[Message], int], priming: int = 0) -> None:
        self.messages: list[Message] = []
        self.priming = priming
        self.systems = self.head = 0
        self._count = count
        self._sums = array("q", [0])
        self._turns = array("I")
        self._later_systems: list[int] = []
        self._pinned: list[int] = []
        self._holes: list[Span] = []
        self._group = -1
        """Where the tool calls and results at the end begin, or where the run of strays does."""
        self._pairing: Pairing | None = None
        self._anchor = 0
        self._measured = (1, 1)

    def add(self, message: Message, cost: int | None = None) -> int:
        """What it costs, unless that is known; the rest of the conversation is not counted."""
        at = len(self.messages)
        cost = self._count(message) if cost is None else cost
        if message.role == "tool":
            sound = self._pairing is not None and self._pairing.answer(message.tool_call_id)
        else:
            self._close_group()
            sound = True
            if calls_tools(message):
                self._group, self._pairing = at, Pairing(message.tool_calls)
        self.messages.append(message)
        self._sums.append(self._sums[-1] + (cost if sound else 0))
        if not sound:
            self._holes.append((at, at + 1))
        self._note(at, message)
        return cost

    def after(self, message: Message, cost: int) -> int:
        """The cost of the whole conversation if this message, which costs so much, were added."""
        end = len(self.messages)
        if message.role == "tool":
            waited_for = self._pairing is not None and self._pairing.awaits(message.tool_call_id)
            return self.cost(0, end) + (cost if waited_for else 0)
        broken = self._pairing is not None and not self._pairing.complete
        return self.cost(0, self._group if broken else end) + cost

    def pin(self, at: int, pinned: bool) -> None:
        message = self.messages[at]
        self.messages[at] = message._replace(pinned=pinned)
        if at < self.head or message.role == "system" or message.pinned == pinned:
            return
        if pinned:
            insort(self._pinned, at)
        else:
            self._pinned.remove(at)

    def _note(self, at: int, message: Message) -> None:
        if self.systems == at and message.role == "system":
            self.systems = self.head = at + 1
        elif self.head == at and message.summary:
            self.head = at + 1
        else:
            if starts_turn(message):
                self._turns.append(at)
            if message.role == "system":
                self._later_systems.append(at)
            elif message.pinned:
                self._pinned.append(at)

    def _close_group(self) -> None:
        """The calls at the end are no longer at the end: unanswered, they are broken now."""
        if self._pairing is not None and not self._pairing.complete:
            start, stop = self._group, len(self.messages)
            while self._holes and self._holes[-1][0] >= start:
                self._holes.pop()
            self._holes.append((start, stop))
            for at in range(start + 1, stop + 1):
                self._sums[at] = self._sums[start]
        self._group, self._pairing = -1, None

    @property
    def current(self) -> int:
        return self._turns[-1] if self._turns else -1

    @property
    def tail(self) -> int:
        return len(self.messages) if self._group < 0 else self._group

    def cost(self, start: int, stop: int) -> int:
        if start >= self._anchor:
            return self._sums[stop] - self._sums[start]
        return self._corrected(stop) - self._corrected(start)

    def counted(self, start: int, stop: int) -> int:
        """The cost as the counter has it, without the correction of `measured`."""
        return self._sums[stop] - self._sums[start]

    def measured(self, stop: int, tokens: int, counted: int) -> None:
        """What was counted as so many tokens is in truth so many: all up to `stop` is corrected.

        In proportion, as nobody knows which of the messages was miscounted.
        """
        self._anchor, self._measured = stop, (tokens, counted)

    def _corrected(self, at: int) -> int:
        anchor = min(at, self._anchor)
        tokens, counted = self._measured
        return self._sums[anchor] * tokens // counted + self._sums[at] - self._sums[anchor]

    def exchanges_back(self, floor: int, stop: int, room: int, paid: Paid = ()) -> tuple[int, int]:
        free = _Free(self.cost, paid)
        positions = range(floor, stop)
        at = self._first_within(positions, 0, len(positions), stop, room, free)
        if at < stop:
            start, end = self._extent(at)
            at = at if start == at else end  # not in the middle of an exchange
        return at, self._unpaid(at, stop, free)

    def turns_back(self, floor: int, stop: int, room: int, paid: Paid = ()) -> tuple[int, int]:
        free = _Free(self.cost, paid)
        at = self.head
        if floor > at or self._unpaid(at, stop, free) > room:
            low, high = bisect_left(self._turns, floor), bisect_left(self._turns, stop)
            at = self._first_within(self._turns, low, high, stop, room, free)
        return at, self._unpaid(at, stop, free)

    def _first_within(
        self, starts: Sequence[int], low: int, high: int, stop: int, room: int, free: _Free
    ) -> int:
        def saved(start: int) -> int:
            return -self._unpaid(start, stop, free)

        if free or self._anchor:
            found = bisect_left(starts, -room, low, high, key=saved)
        else:
            sums = self._sums
            found = bisect_left(starts, sums[stop] - room, low, high, key=sums.__getitem__)
        return starts[found] if found < high else stop

    def _unpaid(self, start: int, stop: int, free: _Free) -> int:
        return self.cost(start, stop) - (free.within(start, stop) if free else 0)

    def turn_after(self, least: int, paid: Paid = ()) -> int:
        free = _Free(self.cost, paid)

        def gone(start: int) -> int:
            return self._unpaid(self.head, start, free)

        found = bisect_left(self._turns, least, key=gone)
        return self._turns[found] if found < len(self._turns) else max(self.current, self.head)

    def holes(self, start: int, stop: int) -> Sequence[Span]:
        if not self._holes:
            return ()
        low = bisect_left(self._holes, (start, 0))
        return self._holes[low : bisect_left(self._holes, (stop, 0))]

    def later_systems(self) -> Sequence[int]:
        return self._later_systems

    def pinned(self) -> Iterator[int]:
        return reversed(self._pinned)

    def exchange(self, at: int) -> Span:
        before = bisect_left(self._holes, (at + 1, 0)) - 1
        if before >= 0 and self._holes[before][1] > at:
            return at, at
        return self._extent(at)

    def _extent(self, at: int) -> Span:
        """Of the exchange, or of the run of strays, that this position is in."""
        messages = self.messages
        if messages[at].role != "tool" and not calls_tools(messages[at]):
            return at, at + 1
        first, stop = at, at + 1
        while first > self.head and messages[first].role == "tool":
            first -= 1
        if messages[first].role != "tool" and not calls_tools(messages[first]):
            first += 1
        while stop < len(messages) and messages[stop].role == "tool":
            stop += 1
        return first, stop


class _Free:
    """What costs nothing any more, so that its part of a span is found without going through it."""

    __slots__ = ("_cost", "_spans", "_sums")

    def __init__(self, cost: Callable[[int, int], int], paid: Paid) -> None:
        self._cost = cost
        self._spans = paid
        self._sums = [0, *accumulate(cost(*span) for span in paid)]

    def __bool__(self) -> bool:
        return bool(self._spans)

    def within(self, start: int, stop: int) -> int:
        spans = self._spans
        first, end = bisect_left(spans, (start, 0)), bisect_left(spans, (stop, 0))
        whole = self._sums[end] - self._sums[first]
        # One may reach into it, and one out of it.
        if first and spans[first - 1][1] > start:
            whole += self._cost(start, min(stop, spans[first - 1][1]))
        if end > first and spans[end - 1][1] > stop:
            whole -= self._cost(stop, spans[end - 1][1])
        return whole
