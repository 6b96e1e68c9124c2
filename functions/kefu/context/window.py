"""The result of trimming: the messages for the model, the dropped messages and the reasons."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple, overload

from kefu.messages import Message

Reason = Literal["budget", "broken_tool_group", "summarized"]
"""Why a message is left out.

`budget`: the message does not fit. `summarized`: a summary replaces it. `broken_tool_group`: a tool
result without its call, or a call without its result before the end of the conversation. A model's
API refuses a prompt with either."""

Span = tuple[int, int]
"""`(start, stop)`: positions of messages, without `stop`."""


class LeftOut(NamedTuple):
    """A run of dropped messages: positions in the conversation without `stop`, and the reason."""

    start: int
    stop: int
    reason: Reason


class Dropped(Sequence[LeftOut]):
    """The runs of messages that do not fit into the budget.

    Each `LeftOut` is made when it is read, because there may be one for each message.
    """

    __slots__ = ("spans",)

    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = spans

    def __len__(self) -> int:
        return len(self.spans)

    @overload
    def __getitem__(self, index: int) -> LeftOut: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[LeftOut]: ...
    def __getitem__(self, index: int | slice) -> LeftOut | Sequence[LeftOut]:
        if isinstance(index, slice):
            return Dropped(self.spans[index])
        return LeftOut(*self.spans[index], "budget")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple | list | Dropped):
            return NotImplemented
        return tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


class View(Sequence[Message]):
    """A read-only sequence of some of a conversation's messages, without a copy of them.

    The sequence that a view reads from may grow, but its messages must not be removed. Creating a
    view takes time in proportion to the spans, not to the messages.
    """

    __slots__ = ("_ends", "_of", "_spans")

    def __init__(self, of: Sequence[Message], spans: Iterable[Span]) -> None:
        self._of = of
        self._spans = tuple(spans)
        self._ends = tuple(accumulate([stop - start for start, stop in self._spans]))

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
    """The result of trimming.

    `messages` and `dropped` together are all messages of the conversation, unchanged and in order.
    `messages` may contain a new summary besides.
    """

    messages: Sequence[Message]
    """The messages to send, in order."""
    dropped: Sequence[Message] = ()
    """The messages that are left out, in order."""
    tokens: int = 0
    """The cost of `messages`, in the counter's unit."""
    limit: int = 0
    """The room of the budget, in the same unit."""
    over_budget: bool = False
    """`tokens` exceeds `limit`: the messages that are always kept do not fit.

    Kept are the system prompt, the current user message and unfinished tool calls at the end."""
    left_out: Sequence[LeftOut] = ()
    """The runs of dropped messages with their reasons, oldest first."""
    fallback: str = ""
    """Why no summary was made, if one was needed; `fifo` was used instead. Else empty."""
    kept_from: int = 0
    """The position of the turn from which on everything is kept; 0 if no older turn is dropped."""

    @property
    def reasons(self) -> dict[Reason, int]:
        """The number of dropped messages per reason."""
        counts: Counter[Reason] = Counter()
        for start, stop, reason in self.left_out:
            counts[reason] += stop - start
        return dict(counts)


def window_of(
    messages: Sequence[Message],
    kept: Iterable[Span],
    holes: Sequence[Span],
    tokens: int,
    room: int,
    kept_from: int = 0,
) -> Window:
    """The window with the spans in `kept`, without the `holes` inside them.

    Holes are left out as `broken_tool_group`, all other messages outside of `kept` as `budget`.
    `kept` and `holes` are in order; spans may be empty or adjacent.
    """
    left_out: Sequence[LeftOut]
    if holes:
        shown, runs = _runs_around(kept, holes, messages)
        left_out, out = tuple(runs), [(start, stop) for start, stop, _ in runs]
    else:
        shown, out = _runs(kept, len(messages))
        left_out = Dropped(out)
    return Window(
        View(messages, shown),
        View(messages, out),
        tokens,
        room,
        tokens > room,
        left_out,
        kept_from=kept_from,
    )


def _runs(kept: Iterable[Span], end: int) -> tuple[list[Span], list[Span]]:
    """The kept spans and the omitted spans, if there are no holes."""
    shown: list[Span] = []
    out: list[Span] = []
    at = 0
    for start, stop in kept:
        if start == stop or stop <= at:
            continue
        if at < start:
            out.append((at, start))
            shown.append((start, stop))
        elif shown:
            shown[-1] = shown[-1][0], stop
        else:
            shown.append((at, stop))
        at = stop
    if at < end:
        out.append((at, end))
    return shown, out


def _runs_around(
    kept: Iterable[Span], holes: Iterable[Span], messages: Sequence[Message]
) -> tuple[list[Span], list[LeftOut]]:
    """The runs as in `_runs`, without the holes."""
    shown: list[Span] = []
    out: list[LeftOut] = []
    ordered_holes = iter((*holes, (len(messages), len(messages))))
    hole = next(ordered_holes)
    at = 0
    for start, stop in (*kept, (len(messages), len(messages))):
        if at < start:
            _leave_out(out, at, start, "budget")
            at = start
        while hole[0] < stop:
            _show(shown, at, hole[0])
            _leave_out(out, *hole, "broken_tool_group")
            at = hole[1]
            hole = next(ordered_holes)
        if at < stop:
            _show(shown, at, stop)
            at = stop
    return shown, out


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
