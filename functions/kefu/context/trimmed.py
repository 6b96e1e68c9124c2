"""`trim_messages`: one call from the messages that a program has to those that it sends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from kefu.context.budget import Budget
from kefu.context.cost import (
    PER_MESSAGE,
    PRIMING,
    AnyCounter,
    MessageCounter,
    counter_for,
    json_of,
    message_counter,
)
from kefu.context.stages import DropTurns, Stage, TrimOutcome, stages_of
from kefu.context.state import ToSummarize, TrimState
from kefu.context.tokens.lengths import utf8_length
from kefu.context.tool_definitions import tools_tokens
from kefu.context.trim import are_own, window_for
from kefu.context.window import LeftOut, View

M = TypeVar("M")

_BYTES = MessageCounter(utf8_length, PER_MESSAGE, PRIMING, samples=True)
_CALIBRATED_SAFETY = 1.05
"""The safety factor of an estimate that was corrected by the provider's count."""


class Trimmed(list[M]):
    """The messages to send: a list, so that it goes into a client as it is.

    The messages are the given objects themselves. New are only the summary and, with a stage that
    shortens tool results, copies of messages with such results.
    """

    dropped: Sequence[M]
    """The messages that are left out, in order."""
    left_out: tuple[LeftOut, ...]
    """The runs of dropped messages, by their positions in the given list, with the reasons."""
    limit: int
    """The tokens that the prompt may have, in the counter's unit."""
    over_budget: bool
    """`tokens` exceeds `limit`: the messages that are always kept do not fit. Always kept are the
    system prompt, the last user message, what the user said later in a message with tool results,
    and the tool calls at the end with their results."""
    stale: bool
    """The given state, or its cut, is of other messages, and was not used."""
    to_summarize: ToSummarize | None
    """Set by `strategy="summary"` when it is time for a new summary."""
    tokens: int
    """The tokens of the prompt, with `system`, `tools` and `response_format`."""

    def __init__(self, messages: Iterable[M], state: Callable[[], TrimState]) -> None:
        super().__init__(messages)
        self._state: TrimState | Callable[[], TrimState] = state

    @property
    def state(self) -> TrimState:
        """Pass the state to the next call for this conversation.

        It is made when it is first read, from the given list: read it before you change older
        messages.
        """
        if not isinstance(self._state, TrimState):
            self._state = self._state()
        return self._state


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
    Amazon Bedrock and the chat templates of some models refuse such messages.

    Never raises because the room is too small; see `Trimmed.over_budget`. Raises TypeError for an
    object that is not a message, and ValueError for an unknown name.

    Example: `client.chat.completions.create(model="gpt-4o", messages=trim_messages(messages,
    model="gpt-4o", max_tokens=8000))`.
    """
    if isinstance(messages, Mapping | str):
        raise TypeError(f"Pass a list of messages, not one: [{messages!r:.80}].")
    room = _budget(budget, model, max_tokens, reserve, trim_step)
    stages = stages_of(("keep_important" if keep else "fifo") if strategy is None else strategy)
    job = _Job(messages, room, stages, keep, state or TrimState(), model or room.model)
    trimmed = job.trimmed(counter, (system, tools, response_format))
    if alternate:
        from kefu.context.wire.edits import alternating

        trimmed[:] = alternating(trimmed)
    return trimmed


def _budget(
    budget: Budget | None, model: str, max_tokens: int | None, reserve: int | None, step: float
) -> Budget:
    if budget is not None:
        if max_tokens is not None or reserve is not None or step:
            raise TypeError("Pass either a Budget, or max_tokens, reserve and trim_step.")
        if not isinstance(budget, Budget):
            raise TypeError(f"Pass a Budget, or a number by its name: max_tokens={budget!r}.")
        return budget
    if model:
        return Budget.for_model(model, max_tokens, reserve, step)
    if max_tokens is None:
        raise TypeError("Say how much fits: model='gpt-4o', max_tokens=8000, or a Budget.")
    return Budget(max_tokens, reserve, step)


_Beside = tuple[Any, Any, Any]
"""What is sent beside the messages: `system`, `tools` and `response_format`."""


class _Job:
    """One call of `trim_messages`; it may count twice, with an estimate and exactly."""

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
        self.model = model
        self.fits = False
        """Whether the last count has left out nothing for the budget, and shortened nothing."""
        self.state = self._known(state)
        self.stale = self.state != state

    def trimmed(self, counter: AnyCounter | None, beside: _Beside) -> Trimmed[Any]:
        """Counts with `counter`; by default by an estimate, and exactly if that might not fit.

        A token has at least one byte. So a conversation with fewer bytes than the room has tokens
        fits, whatever its text is; an estimate can be a quarter of the truth. The provider's count
        corrects an exact count only after a comparison with such a count.
        """
        if counter not in (None, "auto"):
            return self._counted(message_counter(counter or ""), beside)
        exact = counter_for(self.model, exact=True)
        if exact.safety > 1:
            return self._counted(exact, beside)  # the tokenizer is not public, or not installed
        self._counted(_BYTES, beside, exact=True)
        if self.fits:
            estimated = self._counted(counter_for(self.model), beside)
            if self.fits:
                return estimated
        return self._counted(exact, beside, exact=True)

    def _counted(
        self, counter: MessageCounter, beside: _Beside, *, exact: bool = False
    ) -> Trimmed[Any]:
        """Trims with one counter. `exact`: it is the exact count of the model's tokenizer."""
        fixed = self._tokens_beside(beside, counter)
        measured = self.state.measured and not exact
        safety = min(counter.safety, _CALIBRATED_SAFETY) if measured else counter.safety
        limit = int(self.state.room(self.budget.room, exact=exact, beside=fixed) / safety)
        budget = self.budget._replace(limit=max(0, limit - fixed), reserve=0)
        outcome = self._outcome(budget, counter)
        tokens = outcome.tokens + fixed

        def state() -> TrimState:
            return self.state._replace(
                counted=tokens,
                exact=exact,
                cut=outcome.cut,
                cut_mark=self._marks.before(outcome.cut or _first_question(self.messages)),
                cleared=outcome.cleared,
            )

        result: Trimmed[Any] = Trimmed(outcome.sent, state)
        result.tokens, result.limit, result.over_budget = tokens, limit, tokens > limit
        result.left_out = outcome.left_out
        result.dropped = View(self.messages, [(run.start, run.stop) for run in outcome.left_out])
        result.to_summarize = outcome.to_summarize
        result.stale = self.stale
        dropped = any(run.reason == "budget" for run in outcome.left_out)
        self.fits = not (dropped or result.over_budget or outcome.is_shortened)
        return result

    def _tokens_beside(self, beside: _Beside, counter: MessageCounter) -> int:
        system, tools, response_format = beside
        if system is None and self.messages:  # pydantic-ai sends those of the last request
            system = getattr(self.messages[-1], "instructions", None)
        texts = [json_of(value) for value in (system, response_format) if value]
        tokens = tools_tokens(tools, counter.count, self.model) if tools else 0
        return tokens + sum(map(counter.count, texts))

    def _outcome(self, budget: Budget, counter: MessageCounter) -> TrimOutcome:
        last = self.stages[-1]
        plain = len(self.stages) == 1 and self.keep is None and not self.state.summary
        if plain and isinstance(last, DropTurns) and are_own(self.messages):
            bounded = counter.within(budget.room)
            window = window_for(self.messages, budget, last.rule, bounded, kept_from=self.state.cut)
            return TrimOutcome([*window.messages], window.tokens, window.left_out, window.kept_from)
        outcome: TrimOutcome = self._pipeline.run(budget, counter)
        return outcome

    @cached_property
    def _pipeline(self) -> Any:
        # Imported here because messages of Kefu's own class do not need it.
        from kefu.context.wire.pipeline import Pipeline

        mark = self._marks.before
        return Pipeline(self.messages, self.stages, self.keep, self.state, self.model, mark, {})

    @cached_property
    def _marks(self) -> Any:
        from kefu.context.wire.marks import Marks

        return Marks(self.messages)

    def _known(self, state: TrimState) -> TrimState:
        """What the state says about these messages."""
        if not (state.cut or state.covers or state.cut_mark):
            return state
        cut_mark = self._marks.before(state.cut or _first_question(self.messages))
        has_cut = cut_mark == state.cut_mark or not (state.cut or state.cut_mark)
        has_summary = self._marks.before(state.covers) == state.covers_mark
        if has_cut and has_summary:
            return state
        if has_cut or not (state.covers and has_summary):
            return TrimState()
        return state._replace(cut=0, cut_mark="", cleared=0)


def _first_question(messages: Sequence[Any]) -> int:
    """The number of messages up to the first one after the system prompt."""
    from kefu.context.wire.shapes import shape_of

    at = 0
    while at < len(messages) and shape_of(messages[at], "").role == "system":
        at += 1
    return min(at + 1, len(messages))
