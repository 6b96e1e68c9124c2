"""What a session is given, and what a turn gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from kefu.answer import Clock
from kefu.context import CALIBRATED, MessageCounter
from kefu.events import Event, HistorySink, Mode, SessionId, Tokens, Tried, TurnStatus
from kefu.react.display import Piece
from kefu.react.resume import Resumed
from kefu.relay import Relay
from kefu.tools.tool import Tool

BudgetAction = Literal["reject", "trim", "summarize"]
ToolPolicy = Literal["skip", "abort", "retry"]


def _nobody(_: object) -> None:
    """Hears and does nothing."""


@dataclass(frozen=True, slots=True)
class AgentDeps:
    relay: Relay
    clock: Clock
    new_id: Callable[[], SessionId]
    counter: MessageCounter = CALIBRATED
    """Counts prompts and answers; see `message_counter`."""
    counter_name: str = "calibrated"
    tools: Mapping[str, Tool] = field(default_factory=dict)
    history_sinks: Sequence[HistorySink] = ()
    on_event: Callable[[Event], None] = _nobody
    """Hears every event as it happens, chunks too; called before the sinks."""
    on_piece: Callable[[Piece], None] = _nobody
    """Hears the model's words as they come, told apart into thought, action, answer."""
    warn: Callable[[str], None] = _nobody
    """Hears what the person at the terminal should know: one line."""
    approve: Callable[[Tool, str], Awaitable[bool]] | None = None
    """Asked before each call of a tool, with its input."""


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """Of a prompt, in the counter's tokens. Equal to a limit passes. ValueError: warn > max."""

    maximum: int | None = None
    warn: int | None = None
    action: BudgetAction = "reject"
    """What happens above the maximum."""

    def __post_init__(self) -> None:
        if self.maximum is not None and self.warn is not None and self.warn > self.maximum:
            raise ValueError("the limit for a warning is above the limit for a prompt")


@dataclass(frozen=True, slots=True)
class AgentOptions:
    model: str
    mode: Mode = "interactive"
    system_prompt: str = ""
    """Said before the rules for tools, which are added where there are tools."""
    temperature: float = 0.5
    max_output_tokens: int = 2048
    max_steps: int = 100
    limits: TokenLimits = field(default_factory=TokenLimits)
    tool_policy: ToolPolicy = "skip"
    tool_timeout: float = 30.0
    """Seconds."""
    tool_output: int = 16 * 1024
    """Bytes of a result that the model gets to see."""
    log_chunks: bool = False
    working_directory: str = ""
    """Only noted in the log."""
    resumed: Resumed | None = None
    """Go on with this; see `kefu.react.resume`. Its system prompt is used."""


@dataclass(frozen=True, slots=True)
class TurnError:
    code: str
    """`budget_exceeded`, `tool_failed`, `repeated_action`, `malformed_output`, `max_steps`, or a
    KefuError's."""
    message: str
    attempts: tuple[Tried, ...] = ()
    """The keys that were tried for the call that failed."""
    retry_after: int | None = None
    """Seconds until a new try makes sense."""


@dataclass(frozen=True, slots=True)
class Step:
    """One response of the model and what came of it."""

    index: int
    assistant_text: str
    parsed_action: tuple[str, str] | None = None
    """The tool's name and its input."""
    parsed_final: str | None = None
    observation: str | None = None
    tool: str | None = None
    tokens: Tokens = field(default_factory=Tokens)
    """Of the response; the turn's sum also has those of summaries and of what was cut."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    final_text: str
    """The answer; what there was of it when the turn was interrupted or cut."""
    steps: tuple[Step, ...]
    status: TurnStatus
    tokens: Tokens
    error: TurnError | None = None
    turn_index: int = 1
    user_input: str = ""
    started_at: float = 0.0
    """Unix time in seconds."""
    ended_at: float = 0.0

    @property
    def step_count(self) -> int:
        return len(self.steps)
