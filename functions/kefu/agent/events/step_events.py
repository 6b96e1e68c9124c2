"""The events within a turn, one dataclass per type of event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from kefu.agent.events.parts import Estimate, MessageRun, Tokens, Tried


@dataclass(frozen=True, slots=True)
class Assistant:
    """A model call ended with output.

    The output may be incomplete, after an error or an interrupt of the user."""

    type: ClassVar[str] = "assistant"
    content: str = ""
    """The model's output, unchanged."""
    role: str = "assistant"
    """Always `assistant`."""
    tokens: Tokens = field(default_factory=Tokens)
    """Token counts from the upstream, or Kefu's own if the upstream reported none."""
    estimate: Estimate | None = None
    """Kefu's own token counts."""
    usage: Mapping[str, object] | None = None
    """Token counts as the upstream reported them."""
    model: str | None = None
    """Name of the model as the upstream reported it."""
    finish_reason: str | None = None
    """The upstream's `finish_reason`; absent if the output is incomplete."""
    latency_ms: int | None = None
    """Time from the request to the end of the output, in milliseconds."""
    ttft_ms: int | None = None
    """Time from the request to the first event of the stream, in milliseconds."""
    attempts: tuple[Tried, ...] = ()
    """All attempts of the call; absent if the first one succeeded."""


@dataclass(frozen=True, slots=True)
class AssistantChunk:
    """A streamed chunk of the model's output. Chunks are logged only on request."""

    type: ClassVar[str] = "assistant_chunk"
    content: str = ""
    """Text of the chunk. The chunks of a step add up to the `content` of its `assistant` line."""


@dataclass(frozen=True, slots=True)
class Action:
    """The model called a tool."""

    type: ClassVar[str] = "action"
    tool: str = ""
    """Name of the tool as the model wrote it; such a tool may not exist."""
    input: str = ""
    """Input of the tool as the model wrote it, without white space around it."""


@dataclass(frozen=True, slots=True)
class Approval:
    """The user approved or rejected a tool call."""

    type: ClassVar[str] = "approval"
    tool: str = ""
    """Name of the tool."""
    approved: bool = False
    """`false` if the user rejected the call; the tool was not run then."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A tool failed, or the model repeated a call, and the tool policy was applied."""

    type: ClassVar[str] = "policy"
    tool: str = ""
    """Name of the tool."""
    decision: str = ""
    """`skip` reports the problem to the model, `retry` runs the tool again, `abort` ends the
    turn."""
    reason: str = ""
    """`failed`: the tool failed. `repeated`: the model repeated the same call."""
    attempt: int = 1
    """Number of runs so far; for `repeated` the number of identical calls in a row."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of a tool, or an error message about malformed output; sent to the model next."""

    type: ClassVar[str] = "observation"
    content: str = ""
    """Text of the observation. The model receives the text between `<observation>` tags; end tags
    inside the text are escaped there."""
    role: str = "user"
    """Always `user`."""
    tool: str | None = None
    """Name of the tool; absent if the model's output was malformed."""
    ok: bool = True
    """`false` if the tool failed, timed out or was not run."""
    duration_ms: int = 0
    """Duration in milliseconds, including the wait for approval."""
    truncated: bool | None = None
    """`true` if the result was cut at the maximum length."""
    repair: str | None = None
    """The error in the model's output: `unterminated_action`, `missing_tool`, `empty_final` or
    `thought_only`."""


@dataclass(frozen=True, slots=True)
class Final:
    """The model gave its answer."""

    type: ClassVar[str] = "final"
    content: str = ""
    """Text of the answer."""
    role: str = "assistant"
    """Always `assistant`."""
    tokens: Tokens = field(default_factory=Tokens)
    """Sum over the turn."""
    implicit: bool | None = None
    """`true` if the output had no `<final>` tag; all text outside of tags is the answer then."""


@dataclass(frozen=True, slots=True)
class Error:
    """A model call failed."""

    type: ClassVar[str] = "error"
    content: str = ""
    """Error message for the user."""
    code: str = ""
    """Error code, from the table in docs/errors.md."""
    latency_ms: int | None = None
    """Time from the request to the failure, in milliseconds."""
    attempts: tuple[Tried, ...] = ()
    """All attempts of the call."""


@dataclass(frozen=True, slots=True)
class BudgetExceeded:
    """A prompt exceeded a token limit."""

    type: ClassVar[str] = "budget"
    content: str | None = None
    """For `summarize`: text of the summary."""
    action: str = "warn"
    """Action taken: `warn`, `reject`, `trim` or `summarize`."""
    prompt: int = 0
    """Tokens of the prompt by Kefu's count, before any messages were dropped."""
    limit: int = 0
    """The limit that was exceeded, in tokens."""
    dropped: int | None = None
    """Number of messages that were dropped from the prompt."""
    left_out: tuple[MessageRun, ...] = ()
    """For `summarize`: the messages that the summary replaces."""
    tokens: Tokens | None = None
    """Token counts of the model call for the summary; part of the turn's sum."""


StepBody = (
    Assistant
    | AssistantChunk
    | Action
    | Approval
    | Policy
    | Observation
    | Final
    | Error
    | BudgetExceeded
)
