"""What happens in a session, one value per kind of event; `docs/events.md` is made from these.

Names are written in camelCase into a line's `meta`; `content` and `role` stand beside it.
A field that is None is absent there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

Source = Literal["usage", "local", "mixed"]
Mode = Literal["interactive", "once"]
TurnStatus = Literal["ok", "error", "max_steps", "interrupted"]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Of one call of the model, or the sum over several."""

    prompt: int = 0
    completion: int = 0
    source: Source | None = None
    """Who counted: the upstream (`usage`), Kefu (`local`), or some calls so and some so."""

    @property
    def total(self) -> int:
        return self.prompt + self.completion

    def __add__(self, other: Tokens) -> Tokens:
        source: Source | None = self.source or other.source
        if self.source and other.source and self.source != other.source:
            source = "mixed"
        return Tokens(self.prompt + other.prompt, self.completion + other.completion, source)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What Kefu counted by itself, whatever the upstream says."""

    prompt: int = 0
    completion: int | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """One key that was tried for a call."""

    key: str = ""
    """Its fingerprint."""
    outcome: str = ""
    """`ok`, `http_429`, `silent`, …"""
    ms: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """Messages of the conversation, by their positions: the system prompt is 0."""

    start: int = 0
    stop: int = 0
    """The first that is not among them."""


@dataclass(frozen=True, slots=True)
class SessionStart:
    """The first line of a log."""

    type: ClassVar[str] = "session_start"
    mode: Mode = "interactive"
    config: Mapping[str, object] = field(default_factory=dict)
    """What the session runs with: temperature, tools, working directory, limits."""
    model: str = ""
    tokenizer: str = ""
    """The counter that decides limits."""
    system_prompt: str | None = None
    system_prompt_hash: str | None = None
    """Of the text, SHA-256 in hex."""
    forked_from: str | None = None
    """The session and turn this one began as a copy of: `sess_…:3`."""


@dataclass(frozen=True, slots=True)
class SessionResume:
    """The session goes on, in another process."""

    type: ClassVar[str] = "session_resume"
    mode: Mode = "interactive"
    model: str = ""
    tokenizer: str = ""


@dataclass(frozen=True, slots=True)
class TurnStart:
    """The user said something."""

    type: ClassVar[str] = "turn_start"
    content: str = ""
    """As it was typed."""
    role: str = "user"
    tokens: Estimate | None = None
    """Of this text alone; part of no sum."""


@dataclass(frozen=True, slots=True)
class Assistant:
    """A call of the model came to its end, or was cut or interrupted after its first word."""

    type: ClassVar[str] = "assistant"
    content: str = ""
    """The model's words, unchanged."""
    role: str = "assistant"
    tokens: Tokens = field(default_factory=Tokens)
    estimate: Estimate | None = None
    usage: Mapping[str, object] | None = None
    """As the upstream reported it."""
    model: str | None = None
    finish_reason: str | None = None
    """Absent: the answer is not whole."""
    latency_ms: int | None = None
    ttft_ms: int | None = None
    """Until the first event."""
    attempts: tuple[Tried, ...] = ()
    """Absent: the first key answered."""


@dataclass(frozen=True, slots=True)
class AssistantChunk:
    """A piece of the answer as it came. Not logged unless asked for."""

    type: ClassVar[str] = "assistant_chunk"
    content: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """The model calls a tool."""

    type: ClassVar[str] = "action"
    tool: str = ""
    input: str = ""


@dataclass(frozen=True, slots=True)
class Approval:
    """The user was asked whether a tool may run."""

    type: ClassVar[str] = "approval"
    tool: str = ""
    approved: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """A tool failed, or the model repeats itself, and the tool policy decided."""

    type: ClassVar[str] = "policy"
    tool: str = ""
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
    role: str = "user"
    tool: str | None = None
    """Absent: the model's output could not be read."""
    ok: bool = True
    duration_ms: int = 0
    truncated: bool | None = None
    repair: str | None = None
    """What was wrong: `unterminated_action`, `missing_tool`, `empty_final`, `thought_only`."""


@dataclass(frozen=True, slots=True)
class Final:
    """The answer."""

    type: ClassVar[str] = "final"
    content: str = ""
    role: str = "assistant"
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
    latency_ms: int | None = None
    attempts: tuple[Tried, ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """A prompt was held against its limits."""

    type: ClassVar[str] = "budget"
    content: str | None = None
    """Of `summarize`: the summary."""
    action: str = "warn"
    """`warn`, `reject`, `trim`, `summarize`; `drift`: counts differ much from the upstream's."""
    prompt: int = 0
    """Tokens, as Kefu counts them."""
    limit: int = 0
    dropped: int | None = None
    """Messages that stay behind."""
    left_out: tuple[Run, ...] = ()
    """Of `summarize`: what the summary stands for."""
    tokens: Tokens | None = None
    """Of the call that wrote the summary; part of the turn's sum."""


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The user stopped the turn."""

    type: ClassVar[str] = "interrupt"
    content: str = ""
    """The answer so far; kept in the conversation unless it is empty."""


@dataclass(frozen=True, slots=True)
class Rewind:
    """The user took back the last turn, or all of them: they are not told to the model again."""

    type: ClassVar[str] = "rewind"
    action: str = "undo"
    """`undo` or `clear`."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    type: ClassVar[str] = "turn_end"
    status: TurnStatus = "ok"
    step_count: int = 0
    duration_ms: int = 0
    error_message: str | None = None
    error_code: str | None = None
    tokens: Tokens = field(default_factory=Tokens)
    """The sum over the turn's calls: its `assistant` and `budget` events."""


@dataclass(frozen=True, slots=True)
class SessionEnd:
    type: ClassVar[str] = "session_end"
    turn_count: int = 0
    duration_ms: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    reason: str = "exit"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A line of a kind that this version does not know."""

    type: str


Body = (
    SessionStart
    | SessionResume
    | TurnStart
    | Assistant
    | AssistantChunk
    | Action
    | Approval
    | Policy
    | Observation
    | Final
    | Error
    | Budget
    | Interrupt
    | Rewind
    | TurnEnd
    | SessionEnd
)
