"""Lets an operator take over a stored chat, write in it, and hand it back."""

from __future__ import annotations

from kefu.errors import InvalidRequest, SessionNotFound, WrongState
from kefu.sessions.store.attendance import Attendance, OperatorMessage
from kefu.sessions.store.model import SessionId
from kefu.sessions.store.ports import Sessions


async def change_state(
    store: Sessions, session_id: str, wanted: Attendance, taken_from: str = ""
) -> Attendance:
    """Change the attendance of a chat: the model or a person. A repetition has no effect.

    `taken_from`: the operator from whom the chat is taken over, if one has it.

    Raises SessionNotFound, StoreUnavailable, and WrongState if the state does not allow it, such as
    for a chat that another operator has.
    """
    found = await store.set_attendance(session_id, wanted, taken_from)
    if found is None:
        raise SessionNotFound("There is no such session.")
    is_repeated = found.state == wanted.state
    if is_repeated and (wanted.state != "person" or found.operator == wanted.operator):
        return found
    raise WrongState(_reason(found))


async def say(store: Sessions, session_id: SessionId, line: OperatorMessage, now: float) -> int:
    """Save a line of an operator, once for each `client_message_id`; returns the message's id.

    Raises InvalidRequest, SessionNotFound, StoreUnavailable, and WrongState if the operator
    does not have the chat.
    """
    if not line.text.strip():
        raise InvalidRequest("text: must not be empty.", param="text")
    saved = await store.add_line(session_id, line._replace(text=line.text.strip()), now)
    if saved is not None:
        return saved
    session = await store.session(session_id)
    if session is None:
        raise SessionNotFound("There is no such session.")
    raise WrongState(_reason(session.attendance))


def _reason(found: Attendance) -> str:
    if found.state == "person":
        return f"{found.operator} has this chat."
    return "No person has this chat. Take it over first."
