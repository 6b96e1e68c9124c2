"""The events of sessions and turns, one dataclass per type of event.

In a log line, the fields of an event are in the object `meta`, with names in camelCase. Only
`content` and `role` are at the top level. A field that is None is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from kefu.agent.events.parts import Estimate, Mode, Tokens, TurnStatus


@dataclass(frozen=True, slots=True)
class SessionStart:
    """A session started. This event is the first line of a log."""

    type: ClassVar[str] = "session_start"
    mode: Mode = "interactive"
    """`once` for a session of a single turn."""
    config: Mapping[str, object] = field(default_factory=dict)
    """Options of the session: temperature, tools, working directory, limits."""
    model: str = ""
    """Name of the requested model."""
    tokenizer: str = ""
    """Name of the token counter that is used for limits."""
    system_prompt: str | None = None
    """Text of the system prompt."""
    system_prompt_hash: str | None = None
    """SHA-256 of the system prompt, in hex."""
    forked_from: str | None = None
    """In a copy of a session: the original's id and the last copied turn, such as `sess_…:3`."""


@dataclass(frozen=True, slots=True)
class SessionResume:
    """Another process resumed the session."""

    type: ClassVar[str] = "session_resume"
    mode: Mode = "interactive"
    """The field of this name in `session_start`."""
    model: str = ""
    """Name of the requested model; it may differ from before."""
    tokenizer: str = ""
    """Name of the token counter that is used for limits; it may differ from before."""


@dataclass(frozen=True, slots=True)
class Rewind:
    """The user removed the last turn or all turns from the conversation.

    The log keeps removed turns, but later prompts do not contain them."""

    type: ClassVar[str] = "rewind"
    action: str = "undo"
    """`undo` removed the last turn, `clear` all turns."""
    taken_back: int | None = None
    """For `undo`: number of the removed turn."""


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """The session ended. The log has no such line if the process was killed.

    Events of a later process follow if the session was resumed."""

    type: ClassVar[str] = "session_end"
    turn_count: int = 0
    """Number of turns, including those of earlier processes."""
    duration_ms: int = 0
    """Duration in milliseconds, since this process started or resumed the session."""
    tokens: Tokens = field(default_factory=Tokens)
    """Sum over all turns of the session."""
    reason: str = "exit"
    """Cause of the end, such as `exit`, `eof` or a signal."""


@dataclass(frozen=True, slots=True)
class TurnStart:
    """A turn started with a message of the user."""

    type: ClassVar[str] = "turn_start"
    content: str = ""
    """The user's message."""
    role: str = "user"
    """Always `user`."""
    tokens: Estimate | None = None
    """Tokens of the message alone; not part of any sum."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """A turn ended."""

    type: ClassVar[str] = "turn_end"
    status: TurnStatus = "ok"
    """Result of the turn. `max_steps`: the model gave no answer within the maximum of steps."""
    step_count: int = 0
    """Number of steps with a complete model call."""
    duration_ms: int = 0
    """Duration in milliseconds."""
    error_message: str | None = None
    """Error message for the user."""
    error_code: str | None = None
    """`budget_exceeded`, `malformed_output`, `max_steps`, `repeated_action`, `tool_failed`,
    `internal_error`, or the code of the last `error` line."""
    tokens: Tokens = field(default_factory=Tokens)
    """Sum over the model calls of the turn: its `assistant` and `budget` events."""


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The user interrupted the turn."""

    type: ClassVar[str] = "interrupt"
    content: str = ""
    """The partial answer. The partial answer stays in the conversation unless it is empty."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A line with an event type that this version does not know."""

    type: str


SessionBody = SessionStart | SessionResume | TurnStart | Interrupt | Rewind | TurnEnd | SessionEnd
