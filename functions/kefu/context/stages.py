"""The stages of a pipeline, and the named pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kefu.context.state import ToSummarize
from kefu.context.trim import STRATEGIES
from kefu.context.window import LeftOut


class ClearToolResults(NamedTuple):
    """Replaces the text of old tool results by a placeholder; the calls stay."""

    keep_last: int = 3
    """The newest messages with results that are kept whole; up to twice as many are, so that
    successive prompts start with the same messages."""
    exempt: tuple[str, ...] = ()
    """Names of tools. The results of these tools are never cleared."""
    placeholder: str = "[Old tool result cleared]"


class CapToolResults(NamedTuple):
    """Shortens a tool result that is too long to its beginning and its end.

    The results at the end of the conversation share the room that the question leaves.
    """

    share: float = 0.25
    """The most that one result may have, as a fraction of the room."""


class ReplaceBySummary(NamedTuple):
    """Puts the summary of `state` in the place of the messages that it covers.

    When 80 % of the room is used, `Trimmed.to_summarize` has the messages for the next summary.
    """

    step: float = 0.5
    """The fraction of the room that a new summary frees, so that it is needed rarely."""
    repeated: bool = False
    """The caller does not keep the state. With the budget's `trim_step`, the messages to summarize
    then stay the same for several prompts of a growing conversation."""


class DropTurns(NamedTuple):
    """Drops whole turns, oldest first, until the rest fits. Every pipeline ends with this stage."""

    rule: str = "keep_important"
    """A key of `STRATEGIES`."""


Stage = ClearToolResults | CapToolResults | ReplaceBySummary | DropTurns

PIPELINES: dict[str, tuple[Stage, ...]] = {
    **{name: (DropTurns(name),) for name in STRATEGIES},
    "summary": (ReplaceBySummary(), DropTurns()),
    "agent": (ClearToolResults(), CapToolResults(), DropTurns()),
    "agent_summary": (ClearToolResults(), CapToolResults(), ReplaceBySummary(), DropTurns()),
}
"""The pipelines by name. Each ends with `DropTurns`, which keeps every prompt within the budget."""


class TrimOutcome(NamedTuple):
    """What the stages of a pipeline make of a conversation."""

    sent: Sequence[Any]
    """The messages to send."""
    tokens: int
    """Their tokens."""
    left_out: tuple[LeftOut, ...]
    """The runs of messages that are not sent, by their positions in the given list."""
    cut: int
    """`Window.kept_from`, by position in the given list."""
    cleared: int = 0
    """`TrimState.cleared`."""
    is_shortened: bool = False
    """Whether tool results are shortened."""
    to_summarize: ToSummarize | None = None


def stages_of(strategy: str | Sequence[Stage]) -> Sequence[Stage]:
    """The stages of a named pipeline, of a key of `STRATEGIES`, or the given stages themselves.

    Raises ValueError for an unknown name, and for stages without `DropTurns` at the end.
    """
    if isinstance(strategy, str):
        if strategy in PIPELINES:
            return PIPELINES[strategy]
        if strategy in STRATEGIES:
            return (DropTurns(strategy),)
        names = ", ".join({**PIPELINES, **STRATEGIES})
        raise ValueError(f"There is no strategy {strategy!r}. There are: {names}.")
    if not strategy or not isinstance(strategy[-1], DropTurns):
        raise ValueError("The last stage must be DropTurns: it keeps the prompt within the budget.")
    for stage in strategy:
        if isinstance(stage, DropTurns) and stage.rule not in STRATEGIES:
            raise ValueError(f"DropTurns has no rule {stage.rule!r}: {', '.join(STRATEGIES)}.")
    return strategy
