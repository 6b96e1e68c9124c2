"""Runs the stages of a pipeline on a conversation in any format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kefu.context.budget import Budget
from kefu.context.cost import MessageCounter
from kefu.context.stages import CapToolResults, ClearToolResults, DropTurns, ReplaceBySummary, Stage
from kefu.context.state import TrimState
from kefu.context.summary import summary_message
from kefu.context.trim import STRATEGIES
from kefu.context.window import LeftOut, Span, Window
from kefu.context.wire.edits import question_like
from kefu.context.wire.reading import Reading, ReadingConversation, WireCounter
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
    systems: int
    """The position after the system prompt."""
    cut: int
    """`Window.kept_from`, by position in the given messages."""
    cleared: int
    """`TrimState.cleared`."""
    summary_used: bool
    """Whether the summary of the state is a part of the conversation."""


class Pipeline:
    """The stages, for one conversation. Each message is read once, however often they run."""

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
        self._talks: dict[str, ReadingConversation] = {}
        """The conversation by its summary; by "" without a summary."""

    def run(self, budget: Budget, counter: MessageCounter) -> PipelineResult:
        """`budget` has no reserve."""
        counter = WireCounter(
            counter.count, counter.per_message, counter.priming, samples=counter.samples
        ).within(budget.room)
        spliced, talk = self._spliced(budget.room, counter)
        cleared = self._shorten(talk, spliced, budget, counter)
        rule = STRATEGIES[next(s.rule for s in self._stages if isinstance(s, DropTurns))]
        starts_with_question = _starts_with_question(talk)
        if starts_with_question and self._keep:
            _pin_questions(talk)
        talk.kept_from = spliced.position(self._state.cut)
        window = rule(talk, budget)
        if starts_with_question:
            window = _from_question(window, talk)
        values, edited = spliced.values, talk.messages.edited
        if edited:
            values = [edited.get(at, value) for at, value in enumerate(values)]
        return PipelineResult(
            window,
            values,
            tuple(sorted((*spliced.summarized, *spliced.original(window.left_out)))),
            len(edited),
            self._pending(talk, spliced, window, budget),
            talk.systems,
            spliced.given(window.kept_from),
            cleared,
            spliced.summary >= 0,
        )

    def _conversation(
        self, values: Sequence[Any], counter: MessageCounter, summary: str = "", at: int = -1
    ) -> ReadingConversation:
        """The conversation with these messages, of which `summary` is at a position."""
        talk = self._talks.get(summary)
        if talk is None:
            reading = Reading(values, self._model, self._keep, at)
            talk = self._talks[summary] = ReadingConversation(reading, counter)
        else:
            talk.recount(counter)
        return talk

    def _shorten(
        self, talk: ReadingConversation, spliced: _Spliced, budget: Budget, counter: MessageCounter
    ) -> int:
        """Run the stages that shorten tool results. Returns `TrimState.cleared`."""
        cleared = 0
        # A summary is due before the room is full, so results are cleared before that.
        summarizes = any(isinstance(stage, ReplaceBySummary) for stage in self._stages)
        room = int(_NEAR_FULL_SHARE * budget.room) if summarizes else budget.room
        for stage in self._stages:
            if isinstance(stage, ClearToolResults):
                before = spliced.position(self._state.cleared)
                if before or not _fits(talk, room):
                    cleared = clear_results(
                        talk, stage, counter, budget.room, before, lambda: _fits(talk, room)
                    )
            elif isinstance(stage, CapToolResults) and not _fits(talk, budget.room):
                cap_results(talk, stage, counter, budget.room)
        return spliced.given(cleared)

    def _spliced(self, room: int, counter: MessageCounter) -> tuple[_Spliced, ReadingConversation]:
        """The messages, with the known summary in place of the covered messages.

        The question that is being worked on is covered, but stays before the summary.
        """
        messages, state = self._messages, self._state
        talk = self._conversation(messages, counter)
        whole = _Spliced(messages, [(0, len(messages))], -1, [])
        if not state.summary or not any(isinstance(s, ReplaceBySummary) for s in self._stages):
            return whole, talk
        first, covers = talk.first_turn, state.covers
        summary = summary_message(state.summary, room // 4, counter)
        if summary is None or first > covers:
            return whole, talk
        own = isinstance(messages[-1], Message)
        question = talk.current if first <= talk.current < covers else -1
        if self._keep and _starts_with_question(talk):
            _pin_questions(talk)
        kept = [*talk.pinned_exchanges(covers)][::-1]
        if question >= 0 and not any(start <= question < stop for start, stop in kept):
            kept = sorted([*kept, (question, question + 1)])
        at = int(bool(kept) and kept[0] == (question, question + 1))  # else the summary is first
        spans = [(0, first), *kept[:at], (-1, 0), *kept[at:], (covers, len(messages))]
        value = summary if own else question_like(_example(messages, talk), summary.content)
        values: list[Any] = []
        for start, stop in spans:
            values += [value] if start < 0 else messages[start:stop]
        before = sum(stop - start for start, stop in spans[: at + 1])
        gaps = [LeftOut(*gap, "summarized") for gap in _gaps(kept, first, covers)]
        spliced = _Spliced(values, spans, before, gaps)
        return spliced, self._conversation(values, counter, summary.content, before)

    def _pending(
        self, talk: ReadingConversation, spliced: _Spliced, window: Window, budget: Budget
    ) -> tuple[list[Span], int] | None:
        stage = next((s for s in self._stages if isinstance(s, ReplaceBySummary)), None)
        dropped = any(run.reason == "budget" for run in window.left_out)
        if stage is None or not (dropped or window.tokens > _NEAR_FULL_SHARE * budget.room):
            return None
        rule = STRATEGIES[next(s.rule for s in self._stages if isinstance(s, DropTurns))]
        talk.kept_from = 0
        step = budget.trim_step if stage.repeated else 0.0
        lower = budget._replace(limit=int((1 - stage.step) * budget.room), trim_step=step)
        runs = [run for run in rule(talk, lower).left_out if run.reason == "budget"]
        spans = [(run.start, run.stop) for run in spliced.original(runs)]
        covers = max((stop for _, stop in spans), default=0)
        known = self._state.covers if spliced.summary >= 0 else 0
        question = spliced.given(talk.current) if talk.current >= talk.first_turn else -1
        if known <= question < covers:  # the summary speaks of the question, too
            spans = sorted([*spans, (question, question + 1)])
        return (spans, covers) if covers > known else None


def _example(messages: Sequence[Any], talk: ReadingConversation) -> Any:
    """The newest question: a summary is written in its format."""
    return messages[talk.current] if talk.current >= 0 else messages[0]


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


def _fits(talk: ReadingConversation, room: int) -> bool:
    return talk.exchanges_back(0, len(talk.messages), room - talk.priming)[0] == 0


def _gaps(spans: Iterable[Span], start: int, stop: int) -> Iterator[Span]:
    """The parts of a span that lie between others."""
    for first, last in spans:
        if start < first:
            yield start, first
        start = last
    if start < stop:
        yield start, stop


def _starts_with_question(talk: ReadingConversation) -> bool:
    """Whether the first message in another API's format is the user's, as Anthropic requires."""
    messages, at = talk.messages, talk.systems
    return (
        at < len(messages)
        and messages[at].role == "user"
        and not isinstance(messages.value(at), Message)
    )


def _pin_questions(talk: ReadingConversation) -> None:
    """Pin the question of each pinned answer, so that the answer does not become the start."""
    messages = talk.messages
    for at in list(talk.pinned()):
        question = at
        while question > talk.first_turn and messages[question].role != "user":
            question -= 1
        messages.pins.add(question)


def _from_question(window: Window, talk: ReadingConversation) -> Window:
    """The window without answers at its start, because their question did not fit.

    Only `left_out` and `tokens` change.
    """
    kept = [
        at
        for start, stop in _gaps(
            [(run.start, run.stop) for run in window.left_out], 0, len(talk.messages)
        )
        for at in range(start, stop)
    ]
    runs, tokens = list(window.left_out), window.tokens
    for at in kept:
        message = talk.messages[at]
        if message.role == "user":
            break
        if message.role != "system" and at < talk.open_calls:
            start, stop = talk.exchange(at)
            if start == at:
                runs.append(LeftOut(start, stop, "budget"))
                tokens -= talk.cost(start, stop)
    return window._replace(left_out=tuple(sorted(runs)), tokens=tokens)
