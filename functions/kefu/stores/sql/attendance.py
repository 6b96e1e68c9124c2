"""Stores who answers a chat, and the lines of operators, in an SQL database."""

from __future__ import annotations

from kefu.sessions.store.attendance import Attendance, OperatorMessage
from kefu.sessions.store.model import SessionId
from kefu.stores.sql.database import SqlConnection, hold
from kefu.stores.sql.images import SqlImages
from kefu.stores.sql.rows import turn_added
from kefu.stores.sql.turns import ASKED, transaction
from kefu.stores.turns import StoredTurn, may_change

_FIELDS = Attendance._fields
_READ = f"SELECT {', '.join(_FIELDS)} FROM sessions WHERE id = ? AND updated > ?"  # noqa: S608
_CHANGE = f"UPDATE sessions SET {', '.join(f'{one} = ?' for one in _FIELDS)} WHERE id = ?"  # noqa: S608
_KNOWN = "SELECT question_id FROM turns WHERE session = ? AND client = ?"
_NUMBER = (
    "UPDATE sessions SET turns = turns + 1 WHERE id = ? AND updated > ? AND state = 'person'"
    " AND operator = ? RETURNING turns"
)


class SqlAttendance(SqlImages):
    """Every method raises StoreUnavailable when the database fails."""

    @transaction
    def set_attendance(
        self, db: SqlConnection, session_id: str, change: Attendance, taken_from: str = ""
    ) -> Attendance | None:
        hold(db, session_id)
        row = db.execute(_READ, (session_id, self._oldest(self._clock()))).fetchone()
        before = Attendance(*row) if row else None
        if before is None or not may_change(before, change, taken_from):
            return before
        db.execute(_CHANGE, (*change, session_id))
        return change

    @transaction
    def add_line(
        self, db: SqlConnection, session_id: str, line: OperatorMessage, now: float
    ) -> int | None:
        hold(db, session_id)
        oldest = self._oldest(self._clock())
        if db.execute(_READ, (session_id, oldest)).fetchone() is None:
            return None
        known = db.execute(_KNOWN, (session_id, line.client_message_id)).fetchone()
        if known:
            return int(known[0]) + 1
        numbers = db.execute(_NUMBER, (session_id, oldest, line.operator)).fetchall()
        if not numbers:
            return None
        turn = StoredTurn.line(SessionId(session_id), 2 * numbers[0][0] - 1, line, now)
        db.execute(*turn_added(turn))
        db.execute(ASKED, (session_id, turn.question_id, now, False, False))
        return turn.question_id + 1
