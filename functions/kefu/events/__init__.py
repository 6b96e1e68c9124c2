"""What happens in a session, line by line, and the port of what keeps it."""

from __future__ import annotations

from kefu.events.envelope import Event, SessionId, new_session_id
from kefu.events.parts import Estimate, Mode, Run, Tokens, Tried, TurnStatus
from kefu.events.session_events import (
    Interrupt,
    Rewind,
    SessionEnd,
    SessionResume,
    SessionStart,
    TurnEnd,
    TurnStart,
    Unknown,
)
from kefu.events.sink import HistorySink
from kefu.events.step_events import (
    Action,
    Approval,
    Assistant,
    AssistantChunk,
    Budget,
    Error,
    Final,
    Observation,
    Policy,
)
from kefu.events.values import Body
from kefu.events.wire import Log, event_line, read_lines

__all__ = [
    "Action",
    "Approval",
    "Assistant",
    "AssistantChunk",
    "Body",
    "Budget",
    "Error",
    "Estimate",
    "Event",
    "Final",
    "HistorySink",
    "Interrupt",
    "Log",
    "Mode",
    "Observation",
    "Policy",
    "Rewind",
    "Run",
    "SessionEnd",
    "SessionId",
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
