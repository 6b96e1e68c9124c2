"""A plan: what goes to the model, what does not, and why."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from kefu.lean_typing import Literal, NamedTuple, overload
from kefu.messages import Message

Reason = Literal["budget", "broken_tool_group", "summarized"]
"""`broken_tool_group`: a tool's result without its call, or a call without its result, that is
not the conversation's end. A model's API refuses a prompt with either."""

Span = tuple[int, int]
"""From the first position to the one after the last."""


class LeftOut(NamedTuple):
    """A run of messages, by their positions in the conversation, and why it stays behind."""

    start: int
    stop: int
    reason: Reason


class View(Sequence[Message]):
    """Some of a conversation's messages, in order, without a copy of it.

    It takes no time to make, however many they are. It shows the sequence it was made from, so
    that one must not lose messages; it may grow.
    """

    __slots__ = ("_ends", "_of", "_spans")

    def __init__(self, of: Sequence[Message], spans: Iterable[Span]) -> None:
        self._of = of
        self._spans = tuple(spans)
        self._ends = tuple(accumulate(stop - start for start, stop in self._spans))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Message]:
        for start, stop in self._spans:
            yield from self._of[start:stop]

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return tuple(self)[index]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(index)
        span = bisect_right(self._ends, at)
        return self._of[self._spans[span][1] - (self._ends[span] - at)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | list | View):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


class Window(NamedTuple):
    """`messages` and `dropped` are, unchanged and in order, all there was (and a new summary)."""

    messages: Sequence[Message]
    dropped: Sequence[Message] = ()
    tokens: int = 0
    """What `messages` cost, in the counter's unit."""
    limit: int = 0
    """The room there was for them."""
    over_budget: bool = False
    """What must not be left out does not fit: the system prompt, the current user message and
    the tool calls that are being worked on."""
    left_out: tuple[LeftOut, ...] = ()
    """Each run of dropped messages and its reason, oldest first."""
    fallback: str = ""
    """Why there is no new summary where one was wanted, and `fifo` decided instead."""

    @property
    def reasons(self) -> dict[Reason, int]:
        """How many messages were dropped for which reason."""
        found: Counter[Reason] = Counter()
        for start, stop, reason in self.left_out:
            found[reason] += stop - start
        return dict(found)


def window_of(
    messages: Sequence[Message],
    kept: Iterable[Span],
    holes: Iterable[Span],
    tokens: int,
    room: int,
) -> Window:
    """`kept` without the `holes` in it, which are broken; what is in neither is over the budget.

    Both in order; spans may be empty or touch.
    """
    shown: list[Span] = []
    out: list[LeftOut] = []
    broken = iter((*holes, (len(messages), len(messages))))
    hole = next(broken)
    at = 0
    for start, stop in (*kept, (len(messages), len(messages))):
        _leave_out(out, at, start, "budget")
        at = max(at, start)
        while hole[0] < stop:
            _show(shown, at, hole[0])
            _leave_out(out, *hole, "broken_tool_group")
            at = hole[1]
            hole = next(broken)
        _show(shown, at, stop)
        at = max(at, stop)
    dropped = View(messages, ((start, stop) for start, stop, _ in out))
    return Window(View(messages, shown), dropped, tokens, room, tokens > room, tuple(out))


def _show(spans: list[Span], start: int, stop: int) -> None:
    if start >= stop:
        return
    if spans and spans[-1][1] == start:
        start = spans.pop()[0]
    spans.append((start, stop))


def _leave_out(runs: list[LeftOut], start: int, stop: int, reason: Reason) -> None:
    if start >= stop:
        return
    if runs and runs[-1].stop == start and runs[-1].reason == reason:
        start = runs.pop().start
    runs.append(LeftOut(start, stop, reason))
