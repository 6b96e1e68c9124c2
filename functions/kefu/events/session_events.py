"""What happens to a session and its turns, one value per kind of event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from kefu.events.parts import Estimate, Mode, Tokens, TurnStatus


@dataclass(frozen=True, slots=True)
class SessionStart:
    """The first line of a log."""

    type: ClassVar[str] = "session_start"
    mode: Mode = "interactive"
    """`once`: there is one turn."""
    config: Mapping[str, object] = field(default_factory=dict)
    """What the session runs with: temperature, tools, working directory, limits."""
    model: str = ""
    """That is asked for."""
    tokenizer: str = ""
    """The counter that decides limits."""
    system_prompt: str | None = None
    """What the model is told before all else."""
    system_prompt_hash: str | None = None
    """Of the text, SHA-256 in hex."""
    forked_from: str | None = None
    """The session and turn this one began as a copy of: `sess_…:3`."""


@dataclass(frozen=True, slots=True)
class SessionResume:
    """The session goes on, in another process."""

    type: ClassVar[str] = "session_resume"
    mode: Mode = "interactive"
    """As above, like the others."""
    model: str = ""
    """May be another one now."""
    tokenizer: str = ""
    """May be another one now."""


@dataclass(frozen=True, slots=True)
class Rewind:
    """The user took back the last turn, or all of them: they are not told to the model again."""

    type: ClassVar[str] = "rewind"
    action: str = "undo"
    """`undo` or `clear`."""
    taken_back: int | None = None
    """Of `undo`: the turn."""


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """The last line, unless the process was killed or the session went on later."""

    type: ClassVar[str] = "session_end"
    turn_count: int = 0
    """Of all turns, those of earlier processes as well."""
    duration_ms: int = 0
    """Of this process, in milliseconds."""
    tokens: Tokens = field(default_factory=Tokens)
    """Of all turns."""
    reason: str = "exit"
    """What ended it."""


@dataclass(frozen=True, slots=True)
class TurnStart:
    """The user said something."""

    type: ClassVar[str] = "turn_start"
    content: str = ""
    """As it was typed."""
    role: str = "user"
    """`user`, always."""
    tokens: Estimate | None = None
    """Of this text alone; part of no sum."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The turn is over, and how."""

    type: ClassVar[str] = "turn_end"
    status: TurnStatus = "ok"
    """`max_steps`: the model found no answer in time."""
    step_count: int = 0
    """How many calls of the model were followed by something."""
    duration_ms: int = 0
    """In milliseconds."""
    error_message: str | None = None
    """For a person."""
    error_code: str | None = None
    """That of an `error` line, `budget_exceeded`, `malformed_output`, `max_steps`,
    `repeated_action` or `tool_failed`."""
    tokens: Tokens = field(default_factory=Tokens)
    """The sum over the turn's calls: its `assistant` and `budget` events."""


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The user stopped the turn."""

    type: ClassVar[str] = "interrupt"
    content: str = ""
    """The answer so far; kept in the conversation unless it is empty."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A line of a kind that this version does not know."""

    type: str
