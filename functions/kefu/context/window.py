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
        at = range(len(self))[index]
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
    left_out: tuple[LeftOut, ...] = ()
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
    out = [LeftOut(*gap, "budget") for gap in gaps(kept, 0, len(messages))]
    if holes:
        out = joined([*out, *(LeftOut(*hole, "broken_tool_group") for hole in holes)])
    dropped = [(start, stop) for start, stop, _ in out]
    return Window(
        View(messages, gaps(dropped, 0, len(messages))),
        View(messages, dropped),
        tokens,
        room,
        tokens > room,
        tuple(out),
        kept_from=kept_from,
    )


def gaps(spans: Iterable[Span], start: int, stop: int) -> Iterator[Span]:
    """The parts of a span that lie between others, which are in order."""
    for first, last in spans:
        if start < first:
            yield start, first
        start = max(start, last)
    if start < stop:
        yield start, stop


def joined(runs: Iterable[LeftOut]) -> list[LeftOut]:
    """The runs in order, with those of the same reason that follow each other as one."""
    made: list[LeftOut] = []
    for run in sorted(runs):
        if made and made[-1].stop == run.start and made[-1].reason == run.reason:
            made[-1] = made[-1]._replace(stop=run.stop)
        else:
            made.append(run)
    return made
