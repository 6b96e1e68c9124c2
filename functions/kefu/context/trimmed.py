"""`trim_messages`: one call from the messages that a program has to those that it sends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from kefu.context.budget import Budget
from kefu.context.cost import (
    PER_MESSAGE,
    PRIMING,
    AnyCounter,
    MessageCounter,
    counter_for,
    message_counter,
)
from kefu.context.stages import DropTurns, Stage, stages_of
from kefu.context.state import ToSummarize, TrimState
from kefu.context.tokens.lengths import utf8_length
from kefu.context.tool_definitions import tools_tokens
from kefu.context.trim import window_for
from kefu.context.window import LeftOut, View, Window
from kefu.messages import Message

M = TypeVar("M")

_BYTES = MessageCounter(utf8_length, PER_MESSAGE, PRIMING, samples=True)
_CALIBRATED_SAFETY = 1.05
"""The safety factor of an estimate that was corrected by the provider's count."""


class Trimmed(list[M]):
    """The messages to send: a list, so that it goes into a client as it is.

    The messages are the given objects themselves. New are only the summary and, with a stage that
    shortens tool results, copies of messages with such results.
    """

    __slots__ = (
        "_state",
        "dropped",
        "left_out",
        "limit",
        "over_budget",
        "stale",
        "to_summarize",
        "tokens",
    )

    dropped: Sequence[M]
    """The messages that are left out, in order."""
    left_out: tuple[LeftOut, ...]
    """The runs of dropped messages, by their positions in the given list, with the reasons."""
    limit: int
    """The tokens that the prompt may have, in the counter's unit."""
    over_budget: bool
    """`tokens` exceeds `limit`: the messages that are always kept do not fit. Always kept are the
    system prompt, the last user message and the tool calls at the end with their results."""
    _state: TrimState | Callable[[], TrimState]
    stale: bool
    """The given state, or its cut, is of other messages, and was not used."""
    to_summarize: ToSummarize | None
    """Set by `strategy="summary"` when it is time for a new summary."""
    tokens: int
    """The tokens of the prompt, with `system`, `tools` and `response_format`."""

    @property
    def state(self) -> TrimState:
        """Pass the state to the next call for this conversation.

        It is made when it is first read, from the given list: read it before you change older
        messages.
        """
        if not isinstance(self._state, TrimState):
            self._state = self._state()
        return self._state

    def keep_state(self, make: Callable[[], TrimState]) -> None:
        """Note how `state` is made when it is read."""
        self._state = make


def trim_messages(  # noqa: PLR0913 -- keyword arguments, of which most calls need two
    messages: Sequence[M],
    budget: Budget | None = None,
    strategy: str | Sequence[Stage] | None = None,
    counter: AnyCounter | None = None,
    *,
    model: str = "",
    max_tokens: int | None = None,
    reserve: int | None = None,
    trim_step: float = 0.0,
    keep: Callable[[M], bool] | None = None,
    system: Any = None,
    tools: Any = None,
    response_format: Any = None,
    state: TrimState | None = None,
    alternate: bool = False,
) -> Trimmed[M]:
    """The messages of a conversation that fit into one request, as the objects that were given.

    `messages`: dicts or client objects of OpenAI's chat completions or Responses API, Anthropic,
    LangChain, pydantic-ai, Bedrock's Converse, Gemini, the AI SDK or Ollama, or
    `kefu.context.Message`; oldest first, the current question included.

    The room for the prompt, in tokens: `max_tokens` (at most the window of `model`) minus `reserve`
    for the answer, a fifth unless given. `budget`: a `Budget` in place of `model` and `max_tokens`.
    `system` (Anthropic's parameter, or Responses' `instructions`), `tools` and `response_format`
    are sent beside the messages; their tokens are subtracted.

    `strategy`: a key of `PIPELINES` or a sequence of stages; default `fifo`, or `keep_important`
    with `keep`, which tells which messages to keep longer. `counter`: see `message_counter`; by
    default it follows the model: an estimate, and the exact count near the limit.

    `alternate`: join user messages in a row, which a summary and `keep` can leave, into a copy.
    Amazon Bedrock and the chat templates of some models refuse system messages elsewhere.

    Never raises because the room is too small; see `Trimmed.over_budget`. Raises TypeError for an
    object that is not a message, and ValueError for an unknown name.

    Example: `client.chat.completions.create(model="gpt-4o", messages=trim_messages(messages,
    model="gpt-4o", max_tokens=8000))`.
    """
    if budget is None:
        budget = _budget(model, max_tokens, reserve, trim_step)
    elif max_tokens is not None or reserve is not None or trim_step:
        raise TypeError("Pass either a Budget, or max_tokens, reserve and trim_step.")
    stages = stages_of(("keep_important" if keep else "fifo") if strategy is None else strategy)
    job = _Job(messages, budget, stages, keep, state or TrimState(), model or budget.model)
    if system is None and messages:  # pydantic-ai sends those of the last request
        system = getattr(messages[-1], "instructions", None)
    beside = _Beside(system, tools, response_format)
    trimmed = (
        job.run_auto(beside)
        if counter in (None, "auto")
        else job.run(message_counter(counter or ""), beside)
    )
    if alternate:
        from kefu.context.wire.edits import alternating

        trimmed[:] = alternating(trimmed)
    return trimmed


def _budget(model: str, max_tokens: int | None, reserve: int | None, trim_step: float) -> Budget:
    if model:
        return Budget.for_model(model, max_tokens, reserve, trim_step)
    if max_tokens is None:
        raise TypeError("Say how much fits: model='gpt-4o', max_tokens=8000, or a Budget.")
    return Budget(max_tokens, reserve, trim_step)


class _Beside(NamedTuple):
    """The arguments for what is sent beside the messages."""

    system: Any
    tools: Any
    response_format: Any

    def tokens(self, counter: MessageCounter, model: str) -> int:
        tools = tools_tokens(self.tools, counter.count, model) if self.tools else 0
        texts = (self.system, self.response_format)
        return tools + sum(counter.beside(value) for value in texts if value)


class _Job:
    """One call of `trim_messages`; it may run twice, with an estimate and with exact counts."""

    def __init__(
        self,
        messages: Sequence[Any],
        budget: Budget,
        stages: Sequence[Stage],
        keep: Callable[[Any], bool] | None,
        state: TrimState,
        model: str,
    ) -> None:
        self.messages = messages
        self.budget = budget
        self.stages = stages
        self.keep = keep
        self.state, self.stale = _known(state, messages)
        self.model = model
        self.pipeline: Any = None
        """The `Pipeline`, if one was needed."""
        self.edits = False
        """Whether a stage has shortened tool results."""
        self.exact = False

    def run(self, counter: MessageCounter, beside: _Beside, *, exact: bool = False) -> Trimmed[Any]:
        """Trims with one counter. `exact`: it is the exact count of the model's tokenizer."""
        fixed = beside.tokens(counter, self.model)
        self.edits, self.exact = False, exact
        measured = self.state.measured and not exact
        safety = min(counter.safety, _CALIBRATED_SAFETY) if measured else counter.safety
        limit = int(self.state.room(self.budget.room, exact=exact, beside=fixed) / safety)
        budget = self.budget._replace(limit=max(0, limit - fixed), reserve=0)
        plain = len(self.stages) == 1 and self.keep is None and not self.state.summary
        if not (plain and _are_own(self.messages)):
            return self._run_pipeline(budget, counter, fixed, limit)
        drop = self.stages[-1]
        assert isinstance(drop, DropTurns)
        bounded = counter.within(budget.room)
        window = window_for(self.messages, budget, drop.rule, bounded, kept_from=self.state.cut)
        return self._result(window, self.messages, window.left_out, fixed, limit, window.kept_from)

    def _run_pipeline(
        self, budget: Budget, counter: MessageCounter, fixed: int, limit: int
    ) -> Trimmed[Any]:
        """All stages, on messages of any format. `fixed`: tokens beside the messages."""
        # Imported here because messages of Kefu's own class do not need it.
        from kefu.context.wire.marks import mark
        from kefu.context.wire.pipeline import Pipeline

        self.pipeline = self.pipeline or Pipeline(
            self.messages, self.stages, self.keep, self.state, self.model
        )
        outcome = self.pipeline.run(budget, counter)
        self.edits = bool(outcome.edited)
        result = self._result(
            outcome.window,
            outcome.values,
            outcome.left_out,
            fixed,
            limit,
            outcome.cut,
            outcome.cleared,
        )
        if outcome.pending:
            spans, covers = outcome.pending
            result.to_summarize = ToSummarize(
                View(self.messages, spans),
                self.state.summary if outcome.summary_used else "",
                View(self.messages, [(outcome.systems, covers)]),
                covers,
                mark(self.messages, covers),
            )
        return result

    def run_auto(self, beside: _Beside) -> Trimmed[Any]:
        """Counts by an estimate, and exactly if the conversation might not fit.

        A token has at least one byte. So a conversation with fewer bytes than the room has tokens
        fits, whatever its text is; an estimate can be a quarter of the truth. The provider's count
        corrects an exact count only after a comparison with such a count.
        """
        exact = counter_for(self.model, exact=True)
        if exact.safety > 1:
            return self.run(exact, beside)  # the tokenizer is not public, or not installed
        if self._fits(self.run(_BYTES, beside, exact=True)):
            estimated = self.run(counter_for(self.model), beside)
            if self._fits(estimated):
                return estimated
        return self.run(exact, beside, exact=True)

    def _fits(self, trimmed: Trimmed[Any]) -> bool:
        dropped = any(run.reason == "budget" for run in trimmed.left_out)
        return not (dropped or trimmed.over_budget or self.edits)

    def _result(
        self,
        window: Window,
        values: Sequence[Any],
        left_out: tuple[LeftOut, ...],
        fixed: int,
        limit: int,
        cut: int,
        cleared: int = 0,
    ) -> Trimmed[Any]:
        result: Trimmed[Any] = Trimmed()
        at = 0
        for run in (*window.left_out, LeftOut(len(values), len(values), "budget")):
            result.extend(values[at : run.start])
            at = run.stop
        result.tokens, result.limit = window.tokens + fixed, limit
        result.over_budget = result.tokens > limit
        result.left_out = left_out
        result.dropped = View(self.messages, ((run.start, run.stop) for run in left_out))
        result.to_summarize = None
        result.stale = self.stale
        messages, before = self.messages, self.state
        counted, exact = result.tokens, self.exact

        def state() -> TrimState:
            from kefu.context.wire.marks import mark

            state = before._replace(counted=counted, exact=exact, cut=cut, cleared=cleared)
            return state._replace(cut_mark=mark(messages, cut or _first_question(messages)))

        result.keep_state(state)
        return result


def _known(state: TrimState, messages: Sequence[Any]) -> tuple[TrimState, bool]:
    """What the state says about these messages, and whether something is left out of it."""
    if not (state.cut or state.covers or state.cut_mark):
        return state, False
    from kefu.context.wire.marks import marks

    stop = state.cut or _first_question(messages)
    cut_mark, covers_mark = marks(messages, [stop, state.covers])
    known = not state.cut_mark and not state.cut
    if known or cut_mark == state.cut_mark:
        if covers_mark == state.covers_mark:
            return state, False
        return TrimState(), True
    if not state.covers or covers_mark != state.covers_mark:
        return TrimState(), True
    return state._replace(cut=0, cut_mark="", cleared=0), True


def _first_question(messages: Sequence[Any]) -> int:
    """The number of messages up to the first one after the system prompt."""
    from kefu.context.wire.shapes import shape_of

    at = 0
    while at < len(messages) and shape_of(messages[at], "").role == "system":
        at += 1
    return min(at + 1, len(messages))


def _are_own(messages: Sequence[Any]) -> bool:
    """Whether the messages are `kefu.context.Message`, judged by the first and the last."""
    return not messages or (isinstance(messages[0], Message) and isinstance(messages[-1], Message))
