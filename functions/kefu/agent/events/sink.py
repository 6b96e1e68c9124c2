"""The port of the stores that keep the events of a session."""

from __future__ import annotations

from typing import Protocol

from kefu.agent.events.envelope import SessionEvent


class HistorySink(Protocol):
    """A store of events. Its methods raise HistoryUnavailable if it cannot store an event.

    The chat continues after such an error.
    """

    def append(self, event: SessionEvent) -> None:
        """Queue one event after the earlier ones. Returns without waiting for I/O."""
        ...

    async def flush(self) -> None:
        """Wait until all appended events are stored. It is called after every turn."""
        ...
