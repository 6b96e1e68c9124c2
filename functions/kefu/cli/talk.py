"""What the chat command needs of the parts below it, and what those tell it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kefu.lean_typing import Protocol

if TYPE_CHECKING:
    from kefu.cli.logs import Logs
    from kefu.events import Event, SessionId
    from kefu.react import AgentSession, Piece
    from kefu.tools.tool import Tool


class WrongUse(Exception):
    """The command was called with what does not go; the text is for whoever called it."""


@dataclass(frozen=True, slots=True)
class Hearing:
    """Where what happens in a session is heard."""

    event: Callable[[Event], None]
    piece: Callable[[Piece], None]
    warn: Callable[[str], None]
    status: Callable[[str], None]
    """Of something that takes a while: one line."""
    approve: Callable[[Tool, str], Awaitable[bool]]
    gone: Callable[[], None]
    """Nobody reads standard output any more."""


class Talk(Protocol):
    """A model to talk with, in one session after the other."""

    @property
    def model(self) -> str: ...

    @property
    def notice(self) -> str:
        """What a person should know of the model; empty: nothing."""
        ...

    @property
    def tools(self) -> Mapping[str, Tool]: ...

    @property
    def logs(self) -> Logs: ...

    async def warm(self) -> None:
        """Let the model be ready. Raises WrongUse when it cannot be."""
        ...

    def open(self, session_id: SessionId, resume_id: str | None = None) -> AgentSession:
        """A new session of this name, or one to go on with. Raises WrongUse."""
        ...

    async def end(self, session: AgentSession, reason: str) -> None:
        """The session's last words; others may go on with it from now on."""
        ...

    def log_of(self, session_id: SessionId) -> str | None:
        """Where the session is kept; None: nowhere."""
        ...

    async def aclose(self) -> None: ...
