"""Numbers the events of a session and passes them to the sinks and the display."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kefu.agent.events import AgentSessionId, AssistantChunk, EventBody, HistorySink, SessionEvent
from kefu.errors import HistoryUnavailable
from kefu.relay.call import Clock

Write = Callable[[EventBody], None]
"""Writes an event of the current turn."""


class Journal:
    """Writes events to all sinks. The first failure of each sink is reported as a warning.

    A failing sink stops neither the chat nor the other sinks.
    """

    def __init__(
        self,
        session_id: AgentSessionId,
        clock: Clock,
        sinks: Sequence[HistorySink],
        on_event: Callable[[SessionEvent], None],
        warn: Callable[[str], None],
        *,
        last_seq: int = 0,
        log_chunks: bool = False,
    ) -> None:
        self._session_id = session_id
        self._clock = clock
        self._sinks = sinks
        self._on_event = on_event
        self._warn = warn
        self._seq = last_seq
        self._log_chunks = log_chunks
        self._failed: set[int] = set()

    def write(self, body: EventBody, turn: int | None = None, step: int | None = None) -> None:
        """Create an event, call `on_event`, then append it to the sinks.

        Chunks go to the sinks only with `log_chunks`.
        """
        logged = self._log_chunks or not isinstance(body, AssistantChunk)
        self._seq += logged
        event = SessionEvent(self._clock.now(), self._session_id, self._seq, body, turn, step)
        self._on_event(event)
        for sink in self._sinks if logged else ():
            try:
                sink.append(event)
            except Exception as error:  # noqa: BLE001 - a sink may be foreign code
                self._report_failure(sink, error)

    async def flush(self) -> None:
        """Wait until all sinks have stored the events."""
        for sink in self._sinks:
            try:
                await sink.flush()
            except Exception as error:  # noqa: BLE001 - a sink may be foreign code
                self._report_failure(sink, error)

    def _report_failure(self, sink: HistorySink, error: Exception) -> None:
        if id(sink) in self._failed:
            return
        self._failed.add(id(sink))
        reason = str(error) if isinstance(error, HistoryUnavailable) else type(error).__name__
        self._warn(f"The log of the session is incomplete: {reason}")
