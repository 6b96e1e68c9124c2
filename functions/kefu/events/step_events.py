"""What happens in the steps of a turn, one value per kind of event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from kefu.events.parts import Estimate, Run, Tokens, Tried


@dataclass(frozen=True, slots=True)
class Assistant:
    """A call of the model came to its end, or was cut or interrupted after its first word."""

    type: ClassVar[str] = "assistant"
    content: str = ""
    """The model's words, unchanged."""
    role: str = "assistant"
    """`assistant`, always."""
    tokens: Tokens = field(default_factory=Tokens)
    """The upstream's count, where it gave one."""
    estimate: Estimate | None = None
    """Kefu's own count, in any case."""
    usage: Mapping[str, object] | None = None
    """As the upstream reported it."""
    model: str | None = None
    """The one that says it answered."""
    finish_reason: str | None = None
    """Absent: the answer is not whole."""
    latency_ms: int | None = None
    """From the question to the end of the answer, in milliseconds."""
    ttft_ms: int | None = None
    """From the question to the first event, in milliseconds."""
    attempts: tuple[Tried, ...] = ()
    """Absent: the first key answered."""


@dataclass(frozen=True, slots=True)
class AssistantChunk:
    """A piece of the answer as it came. Not logged unless asked for."""

    type: ClassVar[str] = "assistant_chunk"
    content: str = ""
    """Pieces of one step make up the `content` of its `assistant` line."""


@dataclass(frozen=True, slots=True)
class Action:
    """The model calls a tool."""

    type: ClassVar[str] = "action"
    tool: str = ""
    """Its name; there may be no such tool."""
    input: str = ""
    """As the model wrote it, trimmed."""


@dataclass(frozen=True, slots=True)
class Approval:
    """The user was asked whether a tool may run."""

    type: ClassVar[str] = "approval"
    tool: str = ""
    """Its name."""
    approved: bool = False
    """False: it was not run."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A tool failed, or the model repeats itself, and the tool policy decided."""

    type: ClassVar[str] = "policy"
    tool: str = ""
    """Its name."""
    decision: str = ""
    """`skip`: the model hears of it; `retry`; `abort`: the turn ends."""
    reason: str = ""
    """`failed` or `repeated`."""
    attempt: int = 1
    """How many times it had been run, or asked for."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the model is told next: a tool's result, or what was wrong with its own words."""

    type: ClassVar[str] = "observation"
    content: str = ""
    """As it was; the model gets it between `<observation>` tags, with any end of them masked."""
    role: str = "user"
    """`user`, always."""
    tool: str | None = None
    """Absent: the model's output could not be read."""
    ok: bool = True
    """False: the tool failed, took too long or was not run."""
    duration_ms: int = 0
    """With the time to approve it, in milliseconds."""
    truncated: bool | None = None
    """The result was longer than the model gets to see."""
    repair: str | None = None
    """What was wrong: `unterminated_action`, `missing_tool`, `empty_final`, `thought_only`."""


@dataclass(frozen=True, slots=True)
class Final:
    """The answer."""

    type: ClassVar[str] = "final"
    content: str = ""
    """Its text."""
    role: str = "assistant"
    """`assistant`, always."""
    tokens: Tokens = field(default_factory=Tokens)
    """Of the turn."""
    implicit: bool | None = None
    """The model wrote no tags, so all it said is the answer."""


@dataclass(frozen=True, slots=True)
class Error:
    """A call of the model failed."""

    type: ClassVar[str] = "error"
    content: str = ""
    """For a person."""
    code: str = ""
    """One of the README's table of errors."""
    latency_ms: int | None = None
    """Until it was clear, in milliseconds."""
    attempts: tuple[Tried, ...] = ()
    """All there were."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A prompt was held against its limits."""

    type: ClassVar[str] = "budget"
    content: str | None = None
    """Of `summarize`: the summary."""
    action: str = "warn"
    """`warn`, `reject`, `trim`, `summarize`."""
    prompt: int = 0
    """Its tokens, as Kefu counts them; of `trim` and `summarize` before anything stayed behind."""
    limit: int = 0
    """The one that was exceeded."""
    dropped: int | None = None
    """Messages that stay behind."""
    left_out: tuple[Run, ...] = ()
    """Of `summarize`: what the summary stands for."""
    tokens: Tokens | None = None
    """Of the call that was to write a summary; part of the turn's sum."""
