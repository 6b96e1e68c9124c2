"""Defines who answers a stored chat, the model or a person, and the port of its store."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, NamedTuple, Protocol

State = Literal["bot", "waiting", "person", "closed"]
"""- `bot`: the model answers, as in every new chat.
- `waiting`: the visitor has asked for a person; until one comes, the model answers.
- `person`: an operator answers, and the model is not called.
- `closed`: a person has dealt with the chat; the model answers further messages.
"""

STATES_BEFORE: Mapping[State, Collection[State]] = {
    "bot": ("waiting", "person"),
    "waiting": ("bot", "closed"),
    "person": ("bot", "waiting", "closed"),
    "closed": ("waiting", "person"),
}
"""The states from which a chat may change to a state."""


class Attendance(NamedTuple):
    """Who answers a chat."""

    state: State = "bot"
    operator: str = ""
    """The name of the operator who caused the state; empty without an operator."""
    since: float = 0.0
    """When the state began, in Unix time; 0.0 for a chat that never changed its state."""


def holder_before(change: Attendance, taken_from: str) -> str:
    """The operator who must have the chat for the change; "": any."""
    if change.state == "person":
        return taken_from
    return change.operator if "person" in STATES_BEFORE[change.state] else ""


class OperatorMessage(NamedTuple):
    """A message of an operator that is not saved yet."""

    text: str
    operator: str
    client_message_id: str
    """The panel's id of the line, by which a retry is recognized."""
    original: str = ""
    """What the operator wrote, if `text` is a translation."""


class AttendanceStore(Protocol):
    """Stores who answers a chat. Every method raises StoreUnavailable on failure."""

    async def set_attendance(
        self, session_id: str, change: Attendance, taken_from: str = ""
    ) -> Attendance | None:
        """Save `change` if the chat is in a state from which it may change to that state.

        A chat that an operator has may be changed by that operator alone. Another operator may take
        it over if `taken_from` is the name of the operator who has it.

        Atomic. Returns the state of the chat afterwards, changed or not; None for a chat that is
        absent, deleted or expired.
        """
        ...

    async def add_line(self, session_id: str, line: OperatorMessage, now: float) -> int | None:
        """Save a line as a message of the chat, if its operator has the chat.

        Atomic. Returns the id of the message; for a line that was saved before, its first id.
        None for a chat that is absent or deleted, and for a chat of another operator.
        """
        ...
