"""Runs the stages of a pipeline on a conversation in any format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kefu.context.budget import Budget
from kefu.context.cost import MessageCounter
from kefu.context.stages import (
    CapToolResults,
    ClearToolResults,
    DropTurns,
    ReplaceBySummary,
    Stage,
    TrimOutcome,
)
from kefu.context.state import ToSummarize, TrimState
from kefu.context.summary import summary_message
from kefu.context.trim import STRATEGIES, Strategy
from kefu.context.window import LeftOut, View, Window, gaps, joined
from kefu.context.wire.edits import question_like
from kefu.context.wire.reading import Reading, ReadingConversation
from kefu.context.wire.shorten import cap_results, clear_results
from kefu.messages import Message

_NEAR_FULL_SHARE = 0.8
"""The fraction of the room above which the next summary is prepared."""


class Pipeline(NamedTuple):
    """The stages, for one conversation. Each message is read once, however often they run."""

    messages: Sequence[Any]
    stages: Sequence[Stage]
    keep: Callable[[Any], bool] | None
    state: TrimState
    model: str
    mark: Callable[[int], str]
    """The checksum of the messages before a position; see `Marks.before`."""
    readings: dict[str, Reading]
    """The conversation by its summary; by "" without a summary."""

    @property
    def _rule(self) -> Strategy:
        return STRATEGIES[next(s.rule for s in self.stages if isinstance(s, DropTurns))]

    def run(self, budget: Budget, counter: MessageCounter) -> TrimOutcome:
        """`budget` has no reserve."""
        counter = counter.within(budget.room)
        spliced, talk = self._spliced(budget.room, counter)
        cleared = self._shorten(talk, spliced, budget, counter)
        talk.kept_from = spliced.position(self.state.cut)
        window = self._rule(talk, budget)
        if _starts_with_question(talk):
            window = _from_question(window, talk)
        return TrimOutcome(
            [talk.messages.value(at) for at in _kept(window, talk)],
            window.tokens,
            tuple(sorted((*spliced.summarized, *spliced.original(window.left_out)))),
            spliced.given(window.kept_from),
            cleared,
            bool(talk.messages.edited),
            self._to_summarize(talk, spliced, window, budget),
        )

    def _conversation(
        self, values: Sequence[Any], counter: MessageCounter, summary: str = "", at: int = -1
    ) -> ReadingConversation:
        """The conversation with these messages, of which `summary` is at a position."""
        if summary not in self.readings:
            self.readings[summary] = Reading(values, self.model, self.keep, at)
        reading = self.readings[summary]
        reading.restore()
        talk = ReadingConversation(reading, counter)
        if self.keep and _starts_with_question(talk):
            _pin_questions(talk)
        return talk

    def _shorten(
        self, talk: ReadingConversation, spliced: _Spliced, budget: Budget, counter: MessageCounter
    ) -> int:
        """Run the stages that shorten tool results. Returns `TrimState.cleared`."""
        cleared = 0
        # A summary is due before the room is full, so results are cleared before that.
        summarizes = any(isinstance(stage, ReplaceBySummary) for stage in self.stages)
        room = int(_NEAR_FULL_SHARE * budget.room) if summarizes else budget.room
        for stage in self.stages:
            if isinstance(stage, ClearToolResults):
                before = spliced.position(self.state.cleared)
                if before or not _fits(talk, room):
                    cleared = clear_results(
                        talk, stage, counter, budget.room, before, lambda: _fits(talk, room)
                    )
            elif isinstance(stage, CapToolResults) and not _fits(talk, budget.room):
                cap_results(talk, stage, counter, budget)
        return spliced.given(cleared)

    def _spliced(self, room: int, counter: MessageCounter) -> tuple[_Spliced, ReadingConversation]:
        """The messages, with the known summary in place of the covered messages.

        The question that is being worked on is covered, but stays before the summary.
        """
        messages, state = self.messages, self.state
        talk = self._conversation(messages, counter)
        whole = _Spliced(range(len(messages)))
        if not state.summary or not any(isinstance(s, ReplaceBySummary) for s in self.stages):
            return whole, talk
        first, covers = talk.first_turn, state.covers
        summary = summary_message(state.summary, room // 4, counter)
        if summary is None or first > covers:
            return whole, talk
        example = messages[max(0, talk.current)]  # the newest question
        asked = [span for span in talk.asked if span[1] <= covers]
        kept = sorted({*talk.pinned_exchanges(covers), *asked})
        at = int(kept[:1] == [(talk.current, talk.current + 1)])  # else the summary is first
        spans = [(0, first), *kept[:at], (-1, 0), *kept[at:], (covers, len(messages))]
        origins = [at for start, stop in spans for at in range(start, stop)]
        own = isinstance(messages[-1], Message)
        value = summary if own else question_like(example, summary.content)
        values = [value if at < 0 else messages[at] for at in origins]
        gone = [LeftOut(*gap, "summarized") for gap in gaps(kept, first, covers)]
        talk = self._conversation(values, counter, summary.content, origins.index(-1))
        return _Spliced(origins, gone), talk

    def _to_summarize(
        self, talk: ReadingConversation, spliced: _Spliced, window: Window, budget: Budget
    ) -> ToSummarize | None:
        """The messages for the next summary; None while it is not due."""
        stage = next((s for s in self.stages if isinstance(s, ReplaceBySummary)), None)
        dropped = any(run.reason == "budget" for run in window.left_out)
        if stage is None or not (dropped or window.tokens > _NEAR_FULL_SHARE * budget.room):
            return None
        talk.kept_from = 0
        step = budget.trim_step if stage.repeated else 0.0
        lower = budget._replace(limit=int((1 - stage.step) * budget.room), trim_step=step)
        runs = [run for run in self._rule(talk, lower).left_out if run.reason == "budget"]
        spans = [(run.start, run.stop) for run in spliced.original(runs)]
        covers = max((stop for _, stop in spans), default=0)
        known = self.state.covers if spliced.has_summary else 0
        if covers <= known:
            return None
        # The summary speaks of the question, too.
        said = spliced.original(LeftOut(*span, "summarized") for span in talk.asked)
        spans = sorted(
            [*spans, *((run.start, run.stop) for run in said if known <= run.start < covers)]
        )
        return ToSummarize(
            View(self.messages, spans),
            self.state.summary if spliced.has_summary else "",
            View(self.messages, [(talk.systems, covers)]),
            covers,
            self.mark(covers),
        )


class _Spliced(NamedTuple):
    """The positions in the caller's list of the messages with a summary among them."""

    origins: Sequence[int]
    """The position in the caller's list of each message; -1 for the summary."""
    summarized: Sequence[LeftOut] = ()

    @property
    def has_summary(self) -> bool:
        return -1 in self.origins

    def position(self, original: int) -> int:
        """The position in `origins` of a given message; 0 if it is not there."""
        return self.origins.index(original) if original in self.origins else 0

    def given(self, position: int) -> int:
        """The position in the given messages of a position in `origins`; 0 for the summary."""
        return max(0, self.origins[position]) if position < len(self.origins) else 0

    def original(self, runs: Iterable[LeftOut]) -> list[LeftOut]:
        """The runs by positions in the given messages."""
        if not self.has_summary:
            return [*runs]
        return joined(
            LeftOut(at, at + 1, run.reason)
            for run in runs
            for at in self.origins[run.start : run.stop]
            if at >= 0
        )


def _fits(talk: ReadingConversation, room: int) -> bool:
    return talk.exchanges_back(0, len(talk.messages), room - talk.priming)[0] == 0


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


def _kept(window: Window, talk: ReadingConversation) -> Iterator[int]:
    """The positions of the messages that the window keeps."""
    left_out = [(run.start, run.stop) for run in window.left_out]
    for start, stop in gaps(left_out, 0, len(talk.messages)):
        yield from range(start, stop)


def _from_question(window: Window, talk: ReadingConversation) -> Window:
    """The window without answers at its start, because their question did not fit.

    Only `left_out` and `tokens` change.
    """
    runs, tokens = list(window.left_out), window.tokens
    for at in _kept(window, talk):
        message = talk.messages[at]
        if message.role == "user":
            break
        if message.role != "system" and at < talk.open_calls:
            start, stop = talk.exchange(at)
            if start == at:
                runs.append(LeftOut(start, stop, "budget"))
                tokens -= talk.cost(start, stop)
    return window._replace(left_out=tuple(sorted(runs)), tokens=tokens)
