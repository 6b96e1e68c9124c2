"""The port of whatever keeps a session's events."""

from __future__ import annotations

from kefu.events.envelope import Event
from kefu.lean_typing import Protocol


class HistorySink(Protocol):
    """Raises HistoryUnavailable when it cannot keep an event; the chat goes on without it."""

    def append(self, event: Event) -> None:
        """Keep one event, behind those before. Does not wait for anything."""
        ...

    async def flush(self) -> None:
        """Come back once what was appended is where it belongs. Asked after every turn."""
        ...
