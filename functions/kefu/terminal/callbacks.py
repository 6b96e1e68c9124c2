"""The callbacks from the agent and its model to the chat's screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kefu.agent.events import SessionEvent
    from kefu.agent.react import Piece
    from kefu.agent.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Callbacks:
    """The callbacks for a session."""

    event: Callable[[SessionEvent], None]
    """Called with every event."""
    piece: Callable[[Piece], None]
    """Called with each piece of streamed output."""
    warn: Callable[[str], None]
    """Called with a warning for the user: one line."""
    status: Callable[[str], None]
    """Called with the progress of a slow operation: one line."""
    approve: Callable[[Tool, str], Awaitable[bool]]
    """Asks the user whether a tool may run with this input."""
    gone: Callable[[], None]
    """Called if standard output was closed."""
