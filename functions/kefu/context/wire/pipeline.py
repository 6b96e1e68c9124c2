"""Runs the stages of a pipeline on a conversation in any format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kefu.context.budget import Budget
from kefu.context.cost import MessageCounter
from kefu.context.stages import CapToolResults, ClearToolResults, DropTurns, ReplaceBySummary, Stage
from kefu.context.state import TrimState
from kefu.context.trim import STRATEGIES
from kefu.context.trim.summary import summary_message
from kefu.context.window import LeftOut, Span, Window
from kefu.context.wire.marks import belongs
from kefu.context.wire.reading import Reading, ReadingWalk, WireCounter
from kefu.context.wire.shorten import cap_results, clear_results
from kefu.messages import Message

_NEAR_FULL_SHARE = 0.8
"""The fraction of the room above which the next summary is prepared."""


class PipelineResult(NamedTuple):
    window: Window
    """Positions count the items of `values`."""
    values: Sequence[Any]
    """The messages after the stages that replace messages."""
    left_out: tuple[LeftOut, ...]
    """The positions of the given messages that are left out."""
    edited: int
    """The number of messages with shortened tool results."""
    pending: tuple[list[Span], int] | None
    """The spans to summarize, and the number of messages that the summary then covers."""
    head: int
    """The position after the system prompt."""
    cut: int
    """`Window.kept_from`, by position in the given messages."""
    summary_used: bool
    """Whether the summary of the state is a part of the conversation."""


class Pipeline:
    """The stages, for one conversation."""

    def __init__(
        self,
        messages: Sequence[Any],
        stages: Sequence[Stage],
        keep: Callable[[Any], bool] | None,
        state: TrimState,
        model: str,
    ) -> None:
        self._messages = messages
        self._stages = stages
        self._keep = keep
        self._state = state
        self._model = model

    def run(self, budget: Budget, counter: MessageCounter, previous_cut: int) -> PipelineResult:
        """`budget` has no reserve; `previous_cut` as in `TrimState.cut`, or 0."""
        counter = WireCounter(
            counter.count, counter.per_message, counter.priming, samples=counter.samples
        ).within(budget.room)
        spliced = self._spliced(budget.room, counter)
        reading = Reading(spliced.values, self._model, self._keep)
        if spliced.summary >= 0 and not isinstance(spliced.values[spliced.summary], Message):
            reading.summary_at = spliced.summary
        for stage in self._stages:
            if isinstance(stage, ReplaceBySummary | DropTurns) or _fits(reading, budget, counter):
                continue
            if isinstance(stage, ClearToolResults):
                clear_results(reading, stage, counter, budget.room)
            elif isinstance(stage, CapToolResults):
                cap_results(reading, stage, counter, budget.room)
        rule = STRATEGIES[next(s.rule for s in self._stages if isinstance(s, DropTurns))]
        cut = spliced.position(previous_cut)
        starts_with_question = _starts_with_question(reading)
        if starts_with_question and self._keep:
            _pin_questions(reading, counter)
        walk = ReadingWalk(reading, counter, counter.priming, cut)
        window = rule(walk, budget)
        if starts_with_question:
            window = _from_question(window, walk)
        values = spliced.values
        if reading.edited:
            values = [reading.value(at) for at in range(len(values))]
        return PipelineResult(
            window,
            values,
            tuple(sorted((*spliced.summarized, *spliced.original(window.left_out)))),
            len(reading.edited),
            self._pending(reading, spliced, window, budget, counter),
            walk.systems,
            spliced.given(window.kept_from),
            spliced.summary >= 0,
        )

    def _spliced(self, room: int, counter: MessageCounter) -> _Spliced:
        """The messages, with the known summary in place of the covered messages."""
        messages, state = self._messages, self._state
        whole = _Spliced(messages, [(0, len(messages))], -1, [])
        if not state.summary or not any(isinstance(s, ReplaceBySummary) for s in self._stages):
            return whole
        if not belongs(messages, state.covers, state.covers_mark):
            return whole
        reading = Reading(messages, self._model, self._keep)
        head = ReadingWalk(reading, counter).head
        summary = summary_message(state.summary, room // 4, counter)
        if summary is None or head > state.covers:
            return whole
        own = isinstance(messages[-1], Message)
        pins: list[Span] = []
        if own or self._keep:  # otherwise nothing is pinned, and nothing need be read
            pins = list(_pinned_exchanges(reading, counter, head, state.covers))
        gaps = list(_gaps(pins, head, state.covers))
        value = summary if own else {"role": "user", "content": summary.content}
        spans = [(0, head), (-1, 0), *pins, (state.covers, len(messages))]
        values: list[Any] = []
        for start, stop in spans:
            values += [value] if start < 0 else messages[start:stop]
        return _Spliced(values, spans, head, [LeftOut(*gap, "summarized") for gap in gaps])

    def _pending(
        self,
        reading: Reading,
        spliced: _Spliced,
        window: Window,
        budget: Budget,
        counter: MessageCounter,
    ) -> tuple[list[Span], int] | None:
        stage = next((s for s in self._stages if isinstance(s, ReplaceBySummary)), None)
        dropped = any(run.reason == "budget" for run in window.left_out)
        if stage is None or not (dropped or window.tokens > _NEAR_FULL_SHARE * budget.room):
            return None
        rule = STRATEGIES[next(s.rule for s in self._stages if isinstance(s, DropTurns))]
        walk = ReadingWalk(reading, counter, counter.priming)
        lower = budget._replace(limit=int((1 - stage.step) * budget.room), trim_step=0.0)
        runs = [
            run
            for run in rule(walk, lower).left_out
            if run.reason == "budget" and run.stop <= walk.current
        ]
        spans = [(run.start, run.stop) for run in spliced.original(runs)]
        covers = max((stop for _, stop in spans), default=0)
        known = self._state.covers if spliced.summary >= 0 else 0
        return (spans, covers) if covers > known else None


class _Spliced(NamedTuple):
    """Messages, and their positions in the caller's list."""

    values: Sequence[Any]
    spans: Sequence[Span]
    """The spans of the given messages that `values` consists of; (-1, 0) is the summary."""
    summary: int
    """The position of the summary in `values`; -1 without a summary."""
    summarized: list[LeftOut]

    def position(self, original: int) -> int:
        """The position in `values` of a given message; 0 if it is not there."""
        at = 0
        for start, stop in self.spans:
            if start <= original < stop and start >= 0:
                return at + original - start
            at += stop - start
        return 0

    def given(self, position: int) -> int:
        """The position in the given messages of a position in `values`; 0 for the summary."""
        at = 0
        for start, stop in self.spans:
            if at <= position < at + stop - start:
                return max(0, start + position - at) if start >= 0 else 0
            at += stop - start
        return 0

    def original(self, runs: Iterable[LeftOut]) -> Iterator[LeftOut]:
        """The runs by positions in the given messages."""
        for run in runs:
            at = 0
            for start, stop in self.spans:
                first, last = max(run.start, at), min(run.stop, at + stop - start)
                if first < last and start >= 0:
                    yield LeftOut(start + first - at, start + last - at, run.reason)
                at += stop - start


def _fits(reading: Reading, budget: Budget, counter: MessageCounter) -> bool:
    walk = ReadingWalk(reading, counter, counter.priming)
    return walk.exchanges_back(0, len(reading), budget.room - walk.priming)[0] == 0


def _pinned_exchanges(
    reading: Reading, counter: MessageCounter, head: int, stop: int
) -> Iterator[Span]:
    """The exchanges before `stop` with a pinned message, in order."""
    walk = ReadingWalk(reading, counter)
    spans = {walk.exchange(at) for at in walk.pinned() if at < stop}
    return iter(sorted((a, min(b, stop)) for a, b in spans if head <= a < b))


def _gaps(spans: Iterable[Span], start: int, stop: int) -> Iterator[Span]:
    """The parts of a span that lie between others."""
    for first, last in spans:
        if start < first:
            yield start, first
        start = last
    if start < stop:
        yield start, stop


def _starts_with_question(reading: Reading) -> bool:
    """Whether the first message in another API's format is the user's, as Anthropic requires."""
    at = 0
    while at < len(reading) and reading[at].role == "system":
        at += 1
    return (
        at < len(reading)
        and reading[at].role == "user"
        and not isinstance(reading.value(at), Message)
    )


def _pin_questions(reading: Reading, counter: MessageCounter) -> None:
    """Pin the question of each pinned answer, so that the answer does not become the start."""
    walk = ReadingWalk(reading, counter)
    for at in list(walk.pinned()):
        question = at
        while question > walk.head and reading[question].role != "user":
            question -= 1
        reading.pin(question)


def _from_question(window: Window, walk: ReadingWalk) -> Window:
    """The window without answers at its start, because their question did not fit.

    Only `left_out` and `tokens` change.
    """
    kept = [
        at
        for start, stop in _gaps(
            [(run.start, run.stop) for run in window.left_out], 0, len(walk.messages)
        )
        for at in range(start, stop)
    ]
    runs, tokens = list(window.left_out), window.tokens
    for at in kept:
        message = walk.messages[at]
        if message.role == "user":
            break
        if message.role != "system" and at < walk.tail:
            start, stop = walk.exchange(at)
            if start == at:
                runs.append(LeftOut(start, stop, "budget"))
                tokens -= walk.cost(start, stop)
    return window._replace(left_out=tuple(sorted(runs)), tokens=tokens)
