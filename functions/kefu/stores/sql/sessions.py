"""Stores sessions and upstream calls in the SQL database that all processes share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cache, partial

from kefu.sessions.store.model import CallRecord, Retention, SessionId
from kefu.sessions.store.overview import (
    AskedQuestions,
    Day,
    Page,
    SessionFilter,
    ToolDay,
    UserSessions,
)
from kefu.stores.folded_calls import Known, known
from kefu.stores.packed_calls import CallPlace, pack, unpack
from kefu.stores.sql import words
from kefu.stores.sql.asked import asked_most
from kefu.stores.sql.attendance import SqlAttendance
from kefu.stores.sql.database import Database, SqlConnection
from kefu.stores.sql.listing import listed
from kefu.stores.sql.rows import AT_ONCE, DAYS, TOOL_DAYS, TURN, count, purge_part, turn_of
from kefu.stores.sql.turns import quick, transaction
from kefu.stores.turns import (
    FIRST_CURSOR,
    DayChange,
    bucket_of,
    cursor_after,
    date_of,
    position,
)

RECORD = (
    "INSERT OR REPLACE INTO calls (session, message, number, created, record)"
    " SELECT id, ?2, ?3, ?4, ?5 FROM sessions WHERE id = ?1 AND updated > ?6"
)
_CALLS = (
    "SELECT message, number, created, record FROM calls WHERE session = ? AND created > ?"
    " AND EXISTS (SELECT 1 FROM sessions WHERE id = ?1 AND updated > ?3) ORDER BY message, number"
)
_OLD_SESSION = "SELECT id FROM sessions WHERE updated <= ? LIMIT 1"
_OLD_CALLS = "SELECT session, message, number FROM calls WHERE created <= ? LIMIT ?"
_DELETE_CALL = "DELETE FROM calls WHERE session = ? AND message = ? AND number = ?"
_DELETE_TEXTS = (
    "DELETE FROM texts WHERE session = ?1 AND NOT EXISTS (SELECT 1 FROM calls WHERE session = ?1)"
)
_OF_USER = (
    "SELECT id FROM sessions INDEXED BY sessions_user JOIN titles ON session = id"
    " WHERE bucket = ? AND bucket > 0 AND user = ?"
)
INDEXED_AT_ONCE, INDEXED_FOR = 25, 3.0
"""Parts of the index that one request of an operator may wait for, and the seconds."""


class SqlSessions(SqlAttendance):
    """Every method raises StoreUnavailable when the database fails."""

    def __init__(self, file: Database, clock: Callable[[], float], retention: Retention) -> None:
        super().__init__(file, clock, retention)
        file.tidying.append(self._forget)
        file.indexing = words.add_some

    async def record(self, call: CallRecord) -> None:
        oldest = self._clock() - self._retention.session
        row = (call.session_id, call.message_id, call.number, call.created_at, pack(call), oldest)
        await self._file.run(lambda db: db.execute(RECORD, row))

    async def calls(self, session_id: SessionId) -> Sequence[CallRecord]:
        now = self._clock()
        kept = now - self._retention.raw, now - self._retention.session

        def work(db: SqlConnection) -> list[CallRecord]:
            earlier = cache(partial(_known, db, session_id, now))
            rows = db.execute(_CALLS, (session_id, *kept)).fetchall()
            return [unpack(CallPlace(session_id, *row[:3]), row[3], earlier) for row in rows]

        return await self._file.run_in_thread(work)

    async def newest(
        self, wanted: SessionFilter, cursor: str | None, limit: int, now: float
    ) -> Page:
        if wanted.text and (left := await self._indexed()):
            return Page([], cursor or FIRST_CURSOR, waiting=left)
        last = position(cursor, wanted.until)
        since = 0.0 if wanted.since is None else wanted.since
        bounds = (*last, since, now - self._retention.session)
        rows = await self._file.read(lambda db: listed(db, wanted, bounds, limit + 1, now))
        more = len(rows) > limit
        return Page(rows[:limit], cursor_after(rows[limit - 1]) if more else None)

    async def of_user(self, user: str, cursor: str | None) -> UserSessions:
        def work(db: SqlConnection) -> UserSessions:
            found = db.execute(_OF_USER, (bucket_of(user), user)).fetchall()
            return UserSessions([SessionId(name) for (name,) in found], None, len(found))

        return await self._file.read(work)

    @quick
    def days(self, db: SqlConnection, since: str, until: str) -> Sequence[Day]:
        return [Day(*row) for row in db.execute(DAYS, (since, until)).fetchall()]

    @transaction
    def count_assistant(self, db: SqlConnection, now: float) -> None:
        count(db, DayChange(date_of(now), {"assistants": 1}))

    @quick
    def tool_days(self, db: SqlConnection, since: str, until: str) -> Sequence[ToolDay]:
        return [ToolDay(*row) for row in db.execute(TOOL_DAYS, (since, until)).fetchall()]

    async def questions(
        self, since: float, until: float, limit: int, now: float, *, gaps: bool = False
    ) -> AskedQuestions:
        is_whole = await self._indexed() == 0
        oldest = now - self._retention.session
        return await self._file.read(
            lambda db: asked_most(db, (since, until), oldest, limit, gaps=gaps, is_whole=is_whole)
        )

    async def _indexed(self) -> int:
        """Index waiting turns for a limited time. Returns the number of waiting sessions."""
        loop = asyncio.get_running_loop()
        until = loop.time() + INDEXED_FOR
        for _ in range(INDEXED_AT_ONCE):
            if loop.time() > until:
                break
            if not await self._file.run_in_thread(words.add_some):
                return 0
        return await self._file.run_in_thread(words.waiting)

    async def used(self) -> int | None:
        return await self._file.used()

    def _forget(self, db: SqlConnection) -> bool:
        """Delete some expired calls and sessions. Returns True if there may be more."""
        now = self._clock()
        calls = db.execute(_OLD_CALLS, (now - self._retention.raw, AT_ONCE)).fetchall()
        db.executemany(_DELETE_CALL, calls)
        # Texts are shared by the calls of a session, so they are deleted with its last call.
        db.executemany(_DELETE_TEXTS, {(session,) for session, *_ in calls})
        oldest = now - self._retention.session
        session = db.execute(_OLD_SESSION, (oldest,)).fetchone()
        if session:
            purge_part(db, session[0], oldest)
        return len(calls) == AT_ONCE or session is not None


def _known(db: SqlConnection, session_id: SessionId, now: float) -> Known:
    turns = [turn_of(session_id, row) for row in db.execute(TURN, (session_id,))]
    texts = db.execute("SELECT digest, text FROM texts WHERE session = ?", (session_id,))
    return known([message for turn in turns for message in turn.messages(now)], texts)
