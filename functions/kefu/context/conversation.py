"""The view of a conversation that trimming strategies have: positions of messages, and costs.

Terms:

- An *exchange* is one message, or an assistant message with tool calls and their results.
- A *turn* is a user message and all exchanges up to the next user message.
- A *hole* is a tool result without its call, or a tool call without all of its results. A model's
  API refuses a hole, so it is never sent, and its cost is 0.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, islice
from operator import itemgetter
from typing import Generic, TypeVar

from kefu.context.window import Span
from kefu.messages import Message, ToolCall

M = TypeVar("M")


class CountedOnce(dict[int, int], Generic[M]):
    """The cost of each message by position, counted when it is first asked for."""

    __slots__ = ("_count", "_message_at")

    def __init__(self, message_at: Callable[[int], M], count: Callable[[M], int]) -> None:
        self._message_at = message_at
        self._count = count

    def __missing__(self, at: int) -> int:
        cost = self[at] = self._count(self._message_at(at))
        return cost


class Conversation:
    """A list of messages, as strategies see it. It is read from its end, so few are counted.

    Spans are half open: `(start, stop)` excludes `stop`. Costs are in the counter's unit, tokens as
    a rule.
    """

    messages: Sequence[Message]
    """All messages, oldest first."""
    costs: Mapping[int, int]
    """The cost of each message by position, as `CountedOnce` has it."""
    priming: int
    """The tokens that the chat format adds once per prompt."""
    systems: int
    """The number of system messages at the start: they are the system prompt."""
    first_turn: int
    """The position after the system prompt and the summary: the first turn starts here."""
    current: int
    """The position of the last user message; -1 if there is none."""
    asked: Sequence[Span]
    """What the user asks, in order: `current`, and the last exchange after it with the user's words
    beside its results, if there is one.
    """
    open_calls: int
    """The start of the last exchange if it has tool calls, else the number of messages."""
    kept_from: int
    """The position from which the previous prompt was kept; 0 if it was not trimmed."""
    summary_at: int
    """The position of a summary that was put after the question; -1 if there is none."""

    def __init__(
        self,
        messages: Sequence[Message],
        costs: Mapping[int, int],
        priming: int = 0,
        kept_from: int = 0,
    ) -> None:
        self.messages = messages
        self.priming = priming
        self.kept_from = kept_from
        self.summary_at = -1
        self.costs = costs
        self._starts: dict[int, int] = {}
        """The results of `_start_before`, by position."""
        self._holes: set[Span] = set()
        self._in_order: Sequence[Span] = ()
        self.systems, self.first_turn = extent_of_prompt(messages)
        self.open_calls = self._find_open_calls()
        self.current = self._find_current()
        self.asked = [(self.current, self.current + 1)] if self.current >= 0 else ()

    def cost(self, start: int, stop: int) -> int:
        """The cost of a span. The span must start and end at the border of an exchange."""
        if stop - start == 1:  # most spans are one message
            message = self.messages[start]
            if message.role != "tool" and not message.tool_calls:
                return self.costs[start]
        return self.exchanges_back(start, stop, _NO_LIMIT)[1]

    def exchanges_back(
        self, floor: int, stop: int, room: int, kept: Sequence[Span] = ()
    ) -> tuple[int, int]:
        """Returns `(start, cost)` of the longest run of exchanges before `stop` that fits `room`.

        `start` is never below `floor`; it is `stop` if no exchange fits. Exchanges in `kept` cost
        nothing, because they are in the budget already.
        """
        return self._run_back(floor, stop, room, kept, turns=False)

    def turns_back(
        self, floor: int, stop: int, room: int, kept: Sequence[Span] = ()
    ) -> tuple[int, int]:
        """Like `exchanges_back`, for whole turns.

        Messages between `first_turn` and the first user message count as a turn.
        """
        return self._run_back(floor, stop, room, kept, turns=True)

    def turns(self, start: int, stop: int) -> Sequence[int]:
        """The positions of the user messages in a span, in order."""
        return [at for at in range(start, stop) if self._starts_turn(at)]

    def holes(self, start: int, stop: int) -> Sequence[Span]:
        """The holes in a span, in order. Pass the span to a method above first."""
        if len(self._in_order) < len(self._holes):
            self._in_order = sorted(self._holes)
        low = bisect_left(self._in_order, (start, 0))
        return self._in_order[low : bisect_left(self._in_order, (stop, 0))]

    def later_systems(self) -> Sequence[int]:
        """The positions of the system messages after `first_turn`, in order."""
        messages, first = self.messages, self.first_turn
        if "system" not in set(map(_ROLE, islice(messages, first, None))):  # as in most
            return ()
        roles = enumerate(map(_ROLE, messages))
        return [at for at, role in roles if role == "system" and at >= first]

    def pinned(self) -> Iterator[int]:
        """The positions of the pinned messages after `first_turn`, newest first; no system
        messages. Older messages are read only as they are requested.
        """
        messages = self.messages
        if not any(map(_PINNED, messages)):  # so it is in most conversations
            return iter(())
        newest_first = range(len(messages) - 1, self.first_turn - 1, -1)
        positions = compress(newest_first, map(_PINNED, reversed(messages)))
        return (at for at in positions if messages[at].role != "system")

    def pinned_exchanges(self, stop: int) -> Iterator[Span]:
        """The exchanges before `stop` with a pinned message, newest first, without holes."""
        last = stop
        for at in self.pinned():
            if at < last:
                start, end = self.exchange(at)
                if start < end:
                    yield start, min(end, stop)
                    last = start

    def exchange(self, at: int) -> Span:
        """The span of the exchange that contains this position; an empty span for a hole."""
        stop = at + 1
        if self.messages[at].role == "tool" or calls_tools(self.messages[at]):
            while stop < len(self.messages) and self.messages[stop].role == "tool":
                stop += 1
        start = self._start_before(stop) if stop <= self.open_calls else self.open_calls
        inside = any(hole[0] <= at < hole[1] for hole in self._holes)
        return (at, at) if inside else (start, stop)

    def _run_back(
        self, floor: int, stop: int, room: int, kept: Sequence[Span], *, turns: bool
    ) -> tuple[int, int]:
        messages, first, costs = self.messages, self.first_turn, self.costs
        free = {start for start, _ in kept}
        best, spent, total = stop, 0, 0
        at = stop
        while at > floor:
            message = messages[at - 1]
            start = at - 1
            if message.role == "tool" or message.tool_calls:
                start = self._start_before(at)
                if start < floor:
                    break
                cost = self._cost_of_exchange(start, at)
            else:
                cost = costs[start]
            if start not in free:
                total += cost
            if total > room:
                break
            at = start
            if not turns or at == first or (message.role == "user" and not message.summary):
                best, spent = at, total
        return best, spent

    def _start_before(self, stop: int) -> int:
        """The start of the exchange that ends before `stop`, or of a hole; records its holes."""
        start = self._starts.get(stop)
        if start is None:
            start = self._starts[stop] = self._find_start(stop)
        return start

    def _find_start(self, stop: int) -> int:
        first = self._first_result(stop)
        caller = self.messages[first - 1] if first > self.first_turn else None
        if caller is None or not calls_tools(caller):
            if first < stop:
                self._holes.add((first, stop))
                return first
            return stop - 1
        unmatched, complete = self._pair(first - 1, stop)
        if not complete and stop < len(self.messages):
            self._holes.add((first - 1, stop))
        else:
            self._holes.update((at, at + 1) for at in unmatched)
        return first - 1

    def _pair(self, start: int, stop: int) -> tuple[Sequence[int], bool]:
        """Pair the calls at `start` with the results up to `stop`.

        Returns the positions of results without a call, and whether every call has its result.
        """
        calls = self.messages[start].tool_calls
        ids = [result.tool_call_id for result in self.messages[start + 1 : stop]]
        if ids == [call.id for call in calls]:
            return (), True
        pairing = Pairing(calls)
        unmatched = [at for at, id in enumerate(ids, start + 1) if not pairing.answer((id, ""))]
        return unmatched, pairing.complete

    def _cost_of_exchange(self, start: int, stop: int) -> int:
        costs, holes = self.costs, self._holes
        if not holes:
            return sum([costs[at] for at in range(start, stop)])
        if (start, stop) in holes:
            return 0
        return sum([costs[at] for at in range(start, stop) if (at, at + 1) not in holes])

    def _first_result(self, stop: int) -> int:
        messages = self.messages
        for at in range(stop - 1, self.first_turn - 1, -1):
            if messages[at].role != "tool":
                return at + 1
        return min(stop, self.first_turn)

    def _find_open_calls(self) -> int:
        end = len(self.messages)
        first = self._first_result(end)
        if first > self.first_turn and calls_tools(self.messages[first - 1]):
            return first - 1
        return end

    def _find_current(self) -> int:
        at = self.open_calls - 1
        while at >= self.first_turn and not self._starts_turn(at):
            at -= 1
        return at if at >= self.first_turn else -1

    def _starts_turn(self, at: int) -> bool:
        """Whether the message is the user's. A summary has the role `user`, but starts no turn."""
        return self.messages[at].role == "user" and not self.messages[at].summary


_NO_LIMIT = 1 << 62
# By index, because it is faster than by name for 100,000 messages.
_PINNED, _ROLE = map(itemgetter, map(Message._fields.index, ("pinned", "role")))


class Pairing:
    """The tool calls of one step of a model, and which of them have no result yet."""

    __slots__ = ("_by_tool", "_calls", "_waiting")

    def __init__(self, calls: Iterable[ToolCall | tuple[str, str]]) -> None:
        """`calls`: the id and the name of the tool, of each call."""
        self._calls = [(call[0], call[1]) for call in calls]
        self._waiting: Counter[str | None] = Counter(id for id, _ in self._calls)
        self._by_tool: dict[str, list[str]] | None = None

    def answer(self, *results: tuple[str | None, str]) -> bool:
        """Record the results of one message; False, and none of them, if one has no waiting call.

        A result is the id of its call, and the name of the tool or "". Some APIs have no ids. Their
        calls and results have the id `function:` and the name of the tool; such a result also
        answers a call with an id, and the other way round.
        """
        answered: list[str] = []
        for id, tool in results:
            found = self._find(id, tool)
            if found is None:
                self._waiting.update(answered)
                return False
            self._waiting[found] -= 1
            answered.append(found)
        return True

    def awaits(self, call_id: str | None) -> bool:
        """Whether a call with this id has no result yet."""
        return self._waiting[call_id] > 0

    @property
    def complete(self) -> bool:
        """Whether every call has its result."""
        return not any(self._waiting.values())

    def _find(self, call_id: str | None, tool: str) -> str | None:
        """The id of the waiting call that this result answers; None without such a call."""
        waiting = self._waiting
        if call_id is not None and waiting.get(call_id, 0) > 0:
            return call_id
        if tool and waiting.get(unnamed := f"function:{tool}", 0) > 0:
            return unnamed
        name = (call_id or "").removeprefix("function:")
        if not call_id or name == call_id:
            return None
        if self._by_tool is None:
            self._by_tool = {}
            for id, of in reversed(self._calls):
                self._by_tool.setdefault(of, []).append(id)
        ids = self._by_tool.get(name, [])
        while ids and waiting[ids[-1]] < 1:
            ids.pop()
        return ids[-1] if ids else None


def calls_tools(message: Message) -> bool:
    """Whether the message is one of the assistant with tool calls."""
    return bool(message.tool_calls) and message.role == "assistant" and not message.summary


def extent_of_prompt(messages: Sequence[Message]) -> Span:
    """Returns `(systems, first_turn)` as in `Conversation`."""
    systems = 0
    while systems < len(messages) and messages[systems].role == "system":
        systems += 1
    first = systems
    while first < len(messages) and messages[first].summary:
        first += 1
    return systems, first
