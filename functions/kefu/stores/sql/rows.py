"""Reads and writes the rows of chats, contact requests and days by the names of their fields.

The columns are made from the fields, so a new field needs a column, and no statement forgets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import inf
from operator import attrgetter
from typing import Any

from kefu.sessions.store.attendance import Attendance
from kefu.sessions.store.model import Session, SessionId
from kefu.sessions.store.overview import Day, ToolDay
from kefu.stores.sql.database import Change, SqlConnection, hold
from kefu.stores.sql.words import remove
from kefu.stores.turns import DayChange, StoredTurn

_NAMES = {
    "asked_at": "asked",
    "answered_at": "answered",
    "client_message_id": "client",
    "config_id": "config",
    "created_at": "created",
    "delivered_at": "delivered",
    "done_at": "done",
    "due_at": "due",
    "ended_at": "ended",
    "expires_at": "expires",
    "mail_due_at": "mail_due",
    "mailed_at": "mailed",
    "opened_at": "opened",
    "retries": "again",
    "session_id": "session",
    "updated_at": "updated",
}
"""The columns whose names differ from their fields' names."""

_ELSEWHERE = ("session_id", "unanswered", "follows")
"""The session of a turn is known, the table `asked` has `unanswered`, and `follows` is derived."""


def columns(fields: Sequence[str]) -> Sequence[str]:
    """The columns of the fields."""
    return [_NAMES.get(one, one) for one in fields]


_TURN = tuple(one for one in StoredTurn._fields if one not in _ELSEWHERE)
_COLUMNS = columns(_TURN)
_SESSION = tuple(one for one in Session._fields if one != "attendance")
_STATES = len(Attendance._fields)
_values = attrgetter(*_TURN)

SESSION_LENGTH = _STATES + len(_SESSION)
"""The number of columns of a session."""

TURN_COLUMNS = ", ".join(f"turns.{one}" for one in _COLUMNS)
TURN = f"SELECT {TURN_COLUMNS} FROM turns WHERE session = ?"  # noqa: S608 - constant names
_ADD_TURN = (
    f"INSERT INTO turns ({', '.join(_COLUMNS)}, session)"  # noqa: S608 - constant names
    f" VALUES ({', '.join('?' for _ in _COLUMNS)}, ?)"
)
_SAVE_TURN = (
    f"UPDATE turns SET {', '.join(f'{one} = ?' for one in _COLUMNS)}"  # noqa: S608 - constant names
    " WHERE session = ? AND question_id = ?"
)


DAYS = f"SELECT {', '.join(Day._fields)} FROM days WHERE date BETWEEN ? AND ? ORDER BY date"  # noqa: S608 - constant names
_WITHOUT_DEFAULT = ("turns", "errors", "prompt_tokens", "completion_tokens")
"""The columns of a day that each new row must give."""

_CALLS = ToolDay._fields[2:]
_ADD_CALLS = ", ".join(f"{one} = tool_days.{one} + excluded.{one}" for one in _CALLS)
TOOL_DAYS = (
    f"SELECT {', '.join(ToolDay._fields)} FROM tool_days"  # noqa: S608 - constant names
    " WHERE date BETWEEN ? AND ? ORDER BY date, tool"
)
_ADD_TOOL_DAY = (
    f"INSERT INTO tool_days VALUES (?, ?, {', '.join('?' for _ in _CALLS)})"  # noqa: S608 - constant names
    f" ON CONFLICT (date, tool) DO UPDATE SET {_ADD_CALLS}"
)
_COUNT_CALLS = (
    "UPDATE sessions SET tool_calls = tool_calls + ?, tool_failures = tool_failures + ?,"
    " declined = declined + ? WHERE id = ?"
)

OWNED = {
    "calls": "(message, number)",
    "images": "(message, number)",
    "texts": "digest",
    "turns": "question_id",
    "trim_states": "session",
}
"""The tables whose rows belong to a session, with the key columns besides `session`.

`titles` is missing here: its rows have the user, by whom an interrupted deletion is found.
"""

AT_ONCE = 20
"""Rows of each table that one transaction deletes. Few, because a deletion holds the write lock."""

DELETED_MARK = 0.0
"""The value of `updated` that marks a session as being deleted: its chat is then expired."""

_PURGE = [
    f"DELETE FROM {table} WHERE session = ?1 AND {key} IN"  # noqa: S608 - constant names
    f" (SELECT {key.strip('()')} FROM {table} WHERE session = ?1 LIMIT ?2)"
    for table, key in OWNED.items()
]


def session_columns(trim_state: str = "''") -> str:
    """The columns for `session_in`. `trim_state` is an expression, as not all statements read it.

    The columns are of the tables `sessions` and `titles`.
    """
    names = {**_NAMES, "trim_state": trim_state}
    plain = (names.get(one, one) for one in _SESSION)
    return ", ".join((*(f"sessions.{one}" for one in Attendance._fields), *plain))


def session_in(row: Sequence[Any]) -> Session:
    attendance = Attendance(*row[:_STATES])
    return Session(attendance=attendance, **dict(zip(_SESSION, row[_STATES:], strict=True)))


def turn_of(session_id: SessionId, row: Sequence[Any]) -> StoredTurn:
    """A turn from a row of a statement that begins with `TURN`."""
    return StoredTurn(session_id=session_id, **dict(zip(_TURN, row, strict=True)))


def turn_added(turn: StoredTurn) -> Change:
    return _ADD_TURN, (*_values(turn), turn.session_id)


def turn_saved(turn: StoredTurn) -> Change:
    """Replaces all columns of a turn."""
    return _SAVE_TURN, (*_values(turn), turn.session_id, turn.question_id)


def counted(change: DayChange) -> Change:
    """Adds to the sums of a day, of which there must be some."""
    values = {**dict.fromkeys(_WITHOUT_DEFAULT, 0), **change.by}
    return _count_in_day(tuple(values), tuple(change.by)), (change.date, *values.values())


@cache
def _count_in_day(columns: Sequence[str], changed: Sequence[str]) -> str:
    sums = ", ".join(f"{one} = days.{one} + excluded.{one}" for one in changed)
    return (
        f"INSERT INTO days (date, {', '.join(columns)})"  # noqa: S608 - constant names
        f" VALUES (?, {', '.join('?' for _ in columns)}) ON CONFLICT (date) DO UPDATE SET {sums}"
    )


def count(db: SqlConnection, change: DayChange) -> None:
    """Add to the sums of a day. Must run in a transaction."""
    if change.by:
        db.execute(*counted(change))


def count_calls(db: SqlConnection, session_id: str, steps: str, now: float) -> None:
    """Add the calls of a turn that ends to its chat and to the sums of their tools."""
    from kefu.stores.tool_counts import calls_of, in_chat  # here, because few chats have calls

    called = calls_of(steps, now)
    db.executemany(_ADD_TOOL_DAY, called)
    db.execute(_COUNT_CALLS, (*in_chat(called).values(), session_id))


def purge(db: SqlConnection, session_id: str) -> None:
    """Delete all rows of a session."""
    while purge_part(db, session_id, inf):
        pass


def purge_part(db: SqlConnection, session_id: str, latest: float) -> bool:
    """Delete some rows of a session if its `updated` is at most `latest`.

    Returns True if there are more rows. The rows in `titles` and `sessions` are deleted last, so
    that `of_user` and a later clean-up find a session whose deletion was interrupted.
    """
    hold(db, session_id)
    found = db.execute("SELECT updated FROM sessions WHERE id = ?", (session_id,)).fetchone()
    if found is None or found[0] > latest:
        return False
    if remove(db, session_id):  # first, because it reads the texts
        return True
    gone = [db.execute(sql, (session_id, AT_ONCE)).rowcount for sql in _PURGE]
    if max(gone) == AT_ONCE:
        return True
    db.execute("DELETE FROM titles WHERE session = ?", (session_id,))
    db.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
    return False
