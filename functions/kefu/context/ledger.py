"""A `Conversation` that grows message by message and answers by binary search, in O(log n)."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence

from kefu.context.exchange import Paid, Pairing, calls_tools, starts_turn
from kefu.context.paid import PaidSpans, between
from kefu.context.window import Span, Window
from kefu.messages import Message


class Ledger:
    """A `Conversation` that grows. Each message is counted once, when it is added.

    Memory, besides the messages: eight bytes per message (prefix sums of costs) and four per turn.
    Messages are appended or marked as pinned, never removed, so a `View` of them stays valid.
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
        "kept_from",
        "messages",
        "priming",
        "systems",
    )

    def __init__(self, count: Callable[[Message], int], priming: int = 0) -> None:
        self.messages: list[Message] = []
        self.priming = priming
        self.systems = self.head = self.kept_from = 0
        self._count = count
        self._sums = array("q", [0])
        self._turns = array("I")
        self._later_systems: list[int] = []
        self._pinned: list[int] = []
        self._holes: list[Span] = []
        self._group = -1
        """The start of the tool calls and results at the end; -1 if the end has none."""
        self._pairing: Pairing | None = None
        self._anchor = 0
        self._measured = (1, 1)

    def add(self, message: Message, cost: int | None = None) -> int:
        """Append a message and return its cost. The message is counted unless `cost` is given."""
        at = len(self.messages)
        cost = self._count(message) if cost is None else cost
        if message.role == "tool":
            paired = self._pairing is not None and self._pairing.answer(message.tool_call_id)
        else:
            self._close_group()
            paired = True
            if calls_tools(message):
                self._group, self._pairing = at, Pairing(message.tool_calls)
        self.messages.append(message)
        self._sums.append(self._sums[-1] + (cost if paired else 0))
        if not paired:
            self._holes.append((at, at + 1))
        self._note(at, message)
        return cost

    def after(self, message: Message, cost: int) -> int:
        """The cost of the whole conversation after adding this message, which costs `cost`."""
        end = len(self.messages)
        if message.role == "tool":
            awaited = self._pairing is not None and self._pairing.awaits(message.tool_call_id)
            return self.cost(0, end) + (cost if awaited else 0)
        broken = self._pairing is not None and not self._pairing.complete
        return self.cost(0, self._group if broken else end) + cost

    def pin(self, at: int, pinned: bool) -> None:
        """Set or clear the pin of the message at this position."""
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
        """End the group of tool calls at the end. If a result is missing, the group is a hole."""
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

    def counted(self, window: Window) -> int:
        """The counter's cost of a new window, without the correction of `measured`."""
        if not self._anchor:
            return window.tokens - self.priming
        sums = self._sums
        return sums[-1] - sum([sums[stop] - sums[start] for start, stop, _ in window.left_out])

    def measured(self, stop: int, tokens: int, counted: int) -> None:
        """Scale the costs of all messages before `stop` by `tokens / counted`.

        `tokens` is the provider's count of a prompt, `counted` the counter's. All messages are
        scaled alike, because the provider reports no count per message.
        """
        self._anchor, self._measured = stop, (tokens, counted)

    def _corrected(self, at: int) -> int:
        anchor = min(at, self._anchor)
        tokens, counted = self._measured
        return self._sums[anchor] * tokens // counted + self._sums[at] - self._sums[anchor]

    def costs(self, spans: Iterable[Span]) -> Sequence[int]:
        if self._anchor:
            return [self.cost(start, stop) for start, stop in spans]
        sums = self._sums
        return [sums[stop] - sums[start] for start, stop in spans]

    def exchanges_back(self, floor: int, stop: int, room: int, paid: Paid = ()) -> tuple[int, int]:
        free = PaidSpans(self, between(paid, floor, stop))
        positions = range(floor, stop)
        at = self._first_within(positions, 0, len(positions), stop, room, free)
        if at < stop:
            start, end = self._extent(at)
            at = at if start == at else end  # never start in the middle of an exchange
        return at, self._unpaid(at, stop, free)

    def turns_back(self, floor: int, stop: int, room: int, paid: Paid = ()) -> tuple[int, int]:
        free = PaidSpans(self, between(paid, floor, stop))
        at = self.head
        if floor > at or self._unpaid(at, stop, free) > room:
            low, high = bisect_left(self._turns, floor), bisect_left(self._turns, stop)
            at = self._first_within(self._turns, low, high, stop, room, free)
        return at, self._unpaid(at, stop, free)

    def _first_within(
        self, starts: Sequence[int], low: int, high: int, stop: int, room: int, free: PaidSpans
    ) -> int:
        def saved(start: int) -> int:
            return -self._unpaid(start, stop, free)

        if free or self._anchor:
            index = bisect_left(starts, -room, low, high, key=saved)
        else:
            sums = self._sums
            index = bisect_left(starts, sums[stop] - room, low, high, key=sums.__getitem__)
        return starts[index] if index < high else stop

    def _unpaid(self, start: int, stop: int, free: PaidSpans) -> int:
        return self.cost(start, stop) - (free.within(start, stop) if free else 0)

    def turns(self, start: int, stop: int) -> Sequence[int]:
        return self._turns[bisect_left(self._turns, start) : bisect_left(self._turns, stop)]

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
        if self._holes:
            before = bisect_left(self._holes, (at + 1, 0)) - 1
            if before >= 0 and self._holes[before][1] > at:
                return at, at
        message = self.messages[at]
        if message.role != "tool" and not message.tool_calls:
            return at, at + 1
        return self._extent(at)

    def _extent(self, at: int) -> Span:
        """The span of the exchange, or of the run of results without calls, at this position."""
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
