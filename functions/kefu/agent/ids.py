"""The ids of sessions. The module imports little, so that the id is shown before the prompt."""

from __future__ import annotations

from typing import NewType

AgentSessionId = NewType("AgentSessionId", str)

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_session_id(now: float, randomness: bytes) -> AgentSessionId:
    """Returns `sess_` and a ULID: 48 bits of Unix time in ms, then 80 random bits.

    Ids sort by time. `now` is Unix time in seconds; `randomness` has at least 10 bytes.
    """
    number = (int(now * 1000) & (1 << 48) - 1) << 80 | int.from_bytes(randomness[:10])
    return AgentSessionId(
        "sess_" + "".join(_CROCKFORD[number >> 5 * at & 31] for at in range(25, -1, -1))
    )
