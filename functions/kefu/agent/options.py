"""The options and dependencies of a session, and the result of a turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from kefu.agent.display import Piece
from kefu.agent.events import (
    AgentSessionId,
    HistorySink,
    Mode,
    SessionEvent,
    Tokens,
    Tried,
    TurnStatus,
)
from kefu.agent.resume import Resumed
from kefu.chat.prompt import Sampling
from kefu.context import CALIBRATED, MessageCounter
from kefu.relay.call import Clock
from kefu.relay.relay import Relay
from kefu.tools.tool import Tool
from kefu.tools.use import Use

BudgetAction = Literal["reject", "trim", "summarize"]
ToolPolicy = Literal["skip", "abort", "retry"]


def _ignore(_: object) -> None:
    """The default callback: does nothing."""


@dataclass(frozen=True, slots=True)
class AgentDeps:
    """The objects and callbacks that a session uses."""

    relay: Relay
    clock: Clock
    new_id: Callable[[], AgentSessionId]
    counter: MessageCounter = CALIBRATED
    """Counts the tokens of prompts and answers; see `message_counter`."""
    counter_name: str = "calibrated"
    tools: Mapping[str, Tool] = field(default_factory=dict)
    history_sinks: Sequence[HistorySink] = ()
    on_event: Callable[[SessionEvent], None] = _ignore
    """Called with every event, chunks included, before the sinks."""
    on_piece: Callable[[Piece], None] = _ignore
    """Called with each piece of streamed output: text, thought, action or answer."""
    warn: Callable[[str], None] = _ignore
    """Called with a warning for the user: one line."""
    approve: Callable[[Use, str], Awaitable[bool]] | None = None
    """Called with a call that needs an approval, and with the input as the model wrote it; False
    rejects the call. Each write needs one: see `kefu.tools.tool.Tool`. None: no write is possible.
    """
    redact: Callable[[str], str] = str
    """Replaces secrets in the results of tools."""


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """Limits of a prompt in tokens. A prompt that equals a limit is within it.

    Raises ValueError if `warn` is above `maximum`.
    """

    maximum: int | None = None
    """Maximum; None: no maximum."""
    warn: int | None = None
    """A longer prompt causes a warning; None: no warning."""
    action: BudgetAction = "reject"
    """The action for a prompt above the maximum."""

    def __post_init__(self) -> None:
        if self.maximum is not None and self.warn is not None and self.warn > self.maximum:
            raise ValueError("the limit for a warning is above the limit for a prompt")


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """The settings of a session."""

    sampling: Sampling
    mode: Mode = "interactive"
    system_prompt: str = ""
    """Text before the rules for tools. The rules are added if there are tools."""
    max_steps: int = 100
    limits: TokenLimits = field(default_factory=TokenLimits)
    tool_policy: ToolPolicy = "skip"
    tool_timeout: float = 30.0
    """Seconds for one call of a tool, with its retries."""
    tool_output: int = 16 * 1024
    """Maximum bytes of a tool result in the prompt; the rest is cut."""
    approve_each: bool = False
    """Whether each call of a tool needs an approval, also a read."""
    log_chunks: bool = False
    """Whether the log contains `assistant_chunk` events."""
    working_directory: str = ""
    """The path for the log. The session uses the path only there."""
    resumed: Resumed | None = None
    """The session to resume, from `kefu.agent.resume`. The session's system prompt is used."""


@dataclass(frozen=True, slots=True)
class TurnError:
    """The error that ended a turn."""

    code: str
    """`budget_exceeded`, `tool_failed`, `repeated_action`, `malformed_output`, `max_steps`,
    `internal_error`, or the code of a KefuError."""
    message: str
    attempts: tuple[Tried, ...] = ()
    """The attempts of the failed model call, one per API key."""
    retry_after: int | None = None
    """Seconds to wait before a retry."""


class TurnFailed(Exception):
    """Ends the turn without an answer."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.error = TurnError(code, message)


@dataclass(frozen=True, slots=True)
class Step:
    """One response of the model and its result."""

    index: int
    """Number within the turn, from 0."""
    assistant_text: str
    """The model's output, unchanged."""
    parsed_action: tuple[str, str] | None = None
    """The tool's name and its input, if the output is a tool call."""
    parsed_final: str | None = None
    """The answer, if the output has one."""
    observation: str | None = None
    """The tool's result, or the message about malformed output."""
    tool: str | None = None
    """The tool's name."""
    tokens: Tokens = field(default_factory=Tokens)
    """Tokens of this call. The sum of the turn also includes summaries and incomplete calls."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The result of a turn."""

    final_text: str
    """The answer; the partial answer if the turn was interrupted or failed."""
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
