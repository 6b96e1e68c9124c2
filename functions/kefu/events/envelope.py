"""What every event carries beside its own fields, and how sessions are named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

from kefu.events.values import Body

SessionId = NewType("SessionId", str)

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@dataclass(frozen=True, slots=True)
class Event:
    ts: float
    """Unix time in seconds; written as ISO 8601 in UTC, with milliseconds. May go back, as clocks
    do: `seq` is the order."""
    session_id: SessionId
    seq: int
    """Ascends by one within a session, from 1."""
    body: Body
    turn: int | None = None
    """From 1; absent outside of turns."""
    step: int | None = None
    """From 0 in its turn; one call of the model and what follows from it."""

    @property
    def type(self) -> str:
        return self.body.type


def new_session_id(now: float, randomness: bytes) -> SessionId:
    """`sess_` and a ULID: 48 bits of Unix time in ms, then 80 random bits. Sorts by time."""
    number = (int(now * 1000) & (1 << 48) - 1) << 80 | int.from_bytes(randomness[:10])
    return SessionId(
        "sess_" + "".join(_CROCKFORD[number >> 5 * at & 31] for at in range(25, -1, -1))
    )
