"""The fields that all events have in common, and the ids of sessions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

from kefu.agent.events.session_events import SessionBody
from kefu.agent.events.step_events import StepBody

AgentSessionId = NewType("AgentSessionId", str)

EventBody = SessionBody | StepBody

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """One event of a session: the common fields, and a body with the fields of its type."""

    ts: float
    """Unix time in seconds; written as ISO 8601 in UTC, with milliseconds. It may decrease if the
    clock is set back, so `seq` determines the order."""
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


def new_session_id(now: float, randomness: bytes) -> AgentSessionId:
    """Returns `sess_` and a ULID: 48 bits of Unix time in ms, then 80 random bits.

    Ids sort by time. `now` is Unix time in seconds; `randomness` has at least 10 bytes.
    """
    number = (int(now * 1000) & (1 << 48) - 1) << 80 | int.from_bytes(randomness[:10])
    return AgentSessionId(
        "sess_" + "".join(_CROCKFORD[number >> 5 * at & 31] for at in range(25, -1, -1))
    )
