"""Stores who answers a chat, and the lines of operators, in the SQLite file."""

from __future__ import annotations

import sqlite3

from kefu.sessions.model import SessionId
from kefu.sessions.people import Attendance, Line
from kefu.stores.sqlite.connection import writing
from kefu.stores.sqlite.contacts import SqliteContacts
from kefu.stores.sqlite.rows import add_turn
from kefu.stores.sqlite.turns import ASKED
from kefu.stores.turns import StoredTurn, may_change

_FIELDS = Attendance._fields
_READ = f"SELECT {', '.join(_FIELDS)} FROM sessions WHERE id = ? AND updated > ?"  # noqa: S608
_CHANGE = f"UPDATE sessions SET {', '.join(f'{one} = ?' for one in _FIELDS)} WHERE id = ?"  # noqa: S608
_KNOWN = "SELECT question_id FROM turns WHERE session = ? AND client = ?"
_NUMBER = (
    "UPDATE sessions SET turns = turns + 1 WHERE id = ? AND updated > ? AND state = 'person'"
    " AND operator = ? RETURNING turns"
)


class SqliteAttendance(SqliteContacts):
    """Every method raises StoreUnavailable for a locked, full, unreadable or corrupt file."""

    async def attend(
        self, session_id: str, change: Attendance, taken_from: str = ""
    ) -> Attendance | None:
        wanted = session_id, self._oldest()

        def work(db: sqlite3.Connection) -> Attendance | None:
            with writing(db):
                row = db.execute(_READ, wanted).fetchone()
                before = Attendance(*row) if row else None
                if before is None or not may_change(before, change, taken_from):
                    return before
                db.execute(_CHANGE, (*change, session_id))
            return change

        return await self._file.run(work)

    async def add_line(self, session_id: str, line: Line, now: float) -> int | None:
        def work(db: sqlite3.Connection) -> int | None:
            with writing(db):
                if db.execute(_READ, (session_id, self._oldest())).fetchone() is None:
                    return None
                known = db.execute(_KNOWN, (session_id, line.client_message_id)).fetchone()
                if known:
                    return int(known[0]) + 1
                by = (session_id, self._oldest(), line.operator)
                numbers = db.execute(_NUMBER, by).fetchall()
                if not numbers:
                    return None
                turn = StoredTurn.line(SessionId(session_id), 2 * numbers[0][0] - 1, line, now)
                add_turn(db, turn)
                db.execute(ASKED, (session_id, turn.question_id, now, False, False))
            return turn.question_id + 1

        return await self._file.run(work)
