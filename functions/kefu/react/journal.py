"""Stamps a session's events and hands them to everybody who keeps or shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kefu.answer import Clock
from kefu.errors import HistoryUnavailable
from kefu.events import AssistantChunk, Body, Event, HistorySink, SessionId


class Journal:
    """A sink that fails is told of once, and does not stop the chat nor the other sinks."""

    def __init__(
        self,
        session_id: SessionId,
        clock: Clock,
        sinks: Sequence[HistorySink],
        on_event: Callable[[Event], None],
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

    def write(self, body: Body, turn: int | None = None, step: int | None = None) -> None:
        logged = self._log_chunks or not isinstance(body, AssistantChunk)
        self._seq += logged
        event = Event(self._clock.now(), self._session_id, self._seq, body, turn, step)
        self._on_event(event)
        for sink in self._sinks if logged else ():
            try:
                sink.append(event)
            except Exception as error:  # noqa: BLE001 - a sink is anybody's code
                self._told(sink, error)

    async def flush(self) -> None:
        for sink in self._sinks:
            try:
                await sink.flush()
            except Exception as error:  # noqa: BLE001 - a sink is anybody's code
                self._told(sink, error)

    def _told(self, sink: HistorySink, error: Exception) -> None:
        if id(sink) in self._failed:
            return
        self._failed.add(id(sink))
        reason = str(error) if isinstance(error, HistoryUnavailable) else type(error).__name__
        self._warn(f"The history is not kept whole: {reason}")
