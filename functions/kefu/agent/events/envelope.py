"""The fields that all events have in common."""

from __future__ import annotations

from dataclasses import dataclass

from kefu.agent.events.session_events import SessionBody
from kefu.agent.events.step_events import StepBody
from kefu.agent.ids import AgentSessionId

EventBody = SessionBody | StepBody


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """One event of a session: the common fields, and a body with the fields of its type."""

    ts: float
    """Unix time in seconds; written as ISO 8601 in UTC, with milliseconds. The time may decrease if
    the clock is set back, so `seq` determines the order."""
    session_id: AgentSessionId
    seq: int
    """Sequence number within the session, from 1."""
    body: EventBody
    turn: int | None = None
    """Number of the turn, from 1; absent outside of turns."""
    step: int | None = None
    """Number of the step within the turn, from 0. A step is one model call and its tool call."""

    @property
    def type(self) -> str:
        """The type as it is written to the log, such as `turn_start`."""
        return self.body.type
