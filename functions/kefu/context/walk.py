"""A `Conversation` over a plain list, read from its end, so that few messages are counted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, islice
from operator import itemgetter

from kefu.context.exchange import Paid, Pairing, calls_tools, extent_of_head, starts_turn
from kefu.context.window import Span
from kefu.messages import Message


class Walk:
    """A `Conversation` for one trimming of a fixed list of messages.

    Exchanges are found and counted from the newest backwards.
    """

    __slots__ = (
        "_costs",
        "_count",
        "_exchanges",
        "_holes",
        "_in_order",
        "current",
        "head",
        "kept_from",
        "messages",
        "priming",
        "systems",
        "tail",
    )

    def __init__(
        self,
        messages: Sequence[Message],
        count: Callable[[Message], int],
        priming: int = 0,
        kept_from: int = 0,
        costs: dict[int, int] | None = None,
    ) -> None:
        """`costs`: the known costs of messages without tools, by position."""
        self.messages = messages
        self.priming = priming
        self.kept_from = kept_from
        self._count = count
        self._costs = {} if costs is None else costs
        self._exchanges: dict[int, tuple[int, int]] = {}
        """The results of `_tools_before`, by position."""
        self._holes: set[Span] = set()
        self._in_order: Sequence[Span] = ()
        self.systems, self.head = extent_of_head(messages)
        self.tail = self._find_tail()
        self.current = self._find_current()

    def cost(self, start: int, stop: int) -> int:
        if stop - start == 1:  # most spans are one message
            known = self._costs.get(start)
            if known is not None:
                return known
            message = self.messages[start]
            if message.role != "tool" and not message.tool_calls:
                known = self._costs[start] = self._count(message)
                return known
        return self.exchanges_back(start, stop, _NO_LIMIT)[1]

    def costs(self, spans: Iterable[Span]) -> Sequence[int]:
        return [self.cost(start, stop) for start, stop in spans]

    def exchanges_back(self, floor: int, stop: int, room: int, paid: Paid = ()) -> tuple[int, int]:
        return self._run_back(floor, stop, room, paid, turns=False)

    def turns_back(self, floor: int, stop: int, room: int, paid: Paid = ()) -> tuple[int, int]:
        return self._run_back(floor, stop, room, paid, turns=True)

    def turns(self, start: int, stop: int) -> Sequence[int]:
        messages = self.messages
        return [at for at in range(start, stop) if starts_turn(messages[at])]

    def holes(self, start: int, stop: int) -> Sequence[Span]:
        if len(self._in_order) < len(self._holes):
            self._in_order = sorted(self._holes)
        low = bisect_left(self._in_order, (start, 0))
        return self._in_order[low : bisect_left(self._in_order, (stop, 0))]

    def later_systems(self) -> Sequence[int]:
        messages, head = self.messages, self.head
        roles = set(map(_ROLE, islice(messages, head, None)))
        if "system" not in roles:  # so it is in most conversations
            return ()
        return [
            at for at, role in enumerate(map(_ROLE, messages)) if role == "system" and at >= head
        ]

    def pinned(self) -> Iterator[int]:
        messages = self.messages
        if not any(map(_PINNED, messages)):  # so it is in most conversations
            return iter(())
        newest_first = range(len(messages) - 1, self.head - 1, -1)
        positions = compress(newest_first, map(_PINNED, reversed(messages)))
        return (at for at in positions if messages[at].role != "system")

    def exchange(self, at: int) -> Span:
        stop = at + 1
        if self.messages[at].role == "tool" or calls_tools(self.messages[at]):
            while stop < len(self.messages) and self.messages[stop].role == "tool":
                stop += 1
        start = self._tools_before(stop)[0] if stop <= self.tail else self.tail
        inside = any(hole[0] <= at < hole[1] for hole in self._holes)
        return (at, at) if inside else (start, stop)

    def _run_back(
        self, floor: int, stop: int, room: int, paid: Paid, *, turns: bool
    ) -> tuple[int, int]:
        messages, head, costs = self.messages, self.head, self._costs
        free = {start for start, _ in paid}
        best, spent, total = stop, 0, 0
        at = stop
        while at > floor:
            message = messages[at - 1]
            start = at - 1
            if message.role == "tool" or message.tool_calls:
                start, cost = self._tools_before(at)
                if start < floor:
                    break
            elif start in costs:
                cost = costs[start]
            else:
                cost = costs[start] = self._count(message)
            if start not in free:
                total += cost
            if total > room:
                break
            at = start
            if not turns or at == head or (message.role == "user" and not message.summary):
                best, spent = at, total
        return best, spent

    def _tools_before(self, stop: int) -> tuple[int, int]:
        """Returns `(start, cost)` of the exchange that ends before `stop`; records its holes."""
        known = self._exchanges.get(stop)
        if known is None:
            known = self._exchanges[stop] = self._read_tools_before(stop)
        return known

    def _read_tools_before(self, stop: int) -> tuple[int, int]:
        first = self._first_result(stop)
        caller = self.messages[first - 1] if first > self.head else None
        if caller is None or not calls_tools(caller):
            if first < stop:
                self._holes.add((first, stop))
                return first, 0
            return stop - 1, self._count(self.messages[stop - 1])
        count, start = self._count, first - 1
        results = self.messages[first:stop]
        if [r.tool_call_id for r in results] == [call.id for call in caller.tool_calls]:
            return start, sum(map(count, results)) + count(caller)
        cost = 0
        pairing = Pairing(caller.tool_calls)
        unmatched = []
        answer = pairing.answer
        for at, message in enumerate(results, first):
            if answer(message.tool_call_id):
                cost += count(message)
            else:
                unmatched.append((at, at + 1))
        if not pairing.complete and stop < len(self.messages):
            self._holes.add((start, stop))
            return start, 0
        self._holes.update(unmatched)
        return start, cost + count(caller)

    def _first_result(self, stop: int) -> int:
        messages = self.messages
        for at in range(stop - 1, self.head - 1, -1):
            if messages[at].role != "tool":
                return at + 1
        return min(stop, self.head)

    def _find_tail(self) -> int:
        end = len(self.messages)
        first = self._first_result(end)
        if first > self.head and calls_tools(self.messages[first - 1]):
            return first - 1
        return end

    def _find_current(self) -> int:
        at = self.tail - 1
        while at >= self.head and not starts_turn(self.messages[at]):
            at -= 1
        return at if at >= self.head else -1


_NO_LIMIT = 1 << 62
# By index, because it is faster than by name for 100,000 messages.
_PINNED, _ROLE = map(itemgetter, map(Message._fields.index, ("pinned", "role")))
