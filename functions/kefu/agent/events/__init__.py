"""The events of a session, their JSON lines, and the port of the stores that keep them."""

from __future__ import annotations

from typing import Protocol

from kefu.agent.events.envelope import EventBody, SessionEvent
from kefu.agent.events.parts import Estimate, MessageRun, Mode, Tokens, Tried, TurnStatus
from kefu.agent.events.session_events import (
    Interrupt,
    Rewind,
    SessionEnd,
    SessionResume,
    SessionStart,
    TurnEnd,
    TurnStart,
    Unknown,
)
from kefu.agent.events.step_events import (
    Action,
    Approval,
    Assistant,
    AssistantChunk,
    BudgetExceeded,
    Error,
    Final,
    Observation,
    Policy,
)
from kefu.agent.events.wire import Log, event_line, read_lines
from kefu.agent.ids import AgentSessionId, new_session_id


class HistorySink(Protocol):
    """A store of events. A sink's methods raise HistoryUnavailable if an event cannot be stored.

    The chat continues after a HistoryUnavailable.
    """

    def append(self, event: SessionEvent) -> None:
        """Queue an event, in order. Returns without waiting for I/O."""
        ...

    async def flush(self) -> None:
        """Wait until all appended events are stored. `flush` is called after every turn."""
        ...


__all__ = [
    "Action",
    "AgentSessionId",
    "Approval",
    "Assistant",
    "AssistantChunk",
    "BudgetExceeded",
    "Error",
    "Estimate",
    "EventBody",
    "Final",
    "HistorySink",
    "Interrupt",
    "Log",
    "MessageRun",
    "Mode",
    "Observation",
    "Policy",
    "Rewind",
    "SessionEnd",
    "SessionEvent",
    "SessionResume",
    "SessionStart",
    "Tokens",
    "Tried",
    "TurnEnd",
    "TurnStart",
    "TurnStatus",
    "Unknown",
    "event_line",
    "new_session_id",
    "read_lines",
]
