"""Stores sessions and upstream calls in the SQLite file that all processes of a machine share."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence

from kefu.sessions.model import CallRecord, Retention, SessionId, StoredMessage
from kefu.sessions.overview import AskedQuestions, Day, Page, UserSessions, Wanted
from kefu.stores.packed_calls import REFERRED, PackedCall, contents, pack, text_of
from kefu.stores.sqlite import words
from kefu.stores.sqlite.asked import asked_most
from kefu.stores.sqlite.attendance import SqliteAttendance
from kefu.stores.sqlite.connection import writing
from kefu.stores.sqlite.days import days_between
from kefu.stores.sqlite.file import SqliteFile
from kefu.stores.sqlite.listing import listed
from kefu.stores.sqlite.rows import AT_ONCE, TURN, purge_part, turn_of
from kefu.stores.sqlite.turns import NEWEST
from kefu.stores.turns import FAR, START, bucket_of, cursor_after, position

_RECORD = (
    "INSERT OR REPLACE INTO calls (session, message, number, created, record)"
    " SELECT id, ?2, ?3, ?4, ?5 FROM sessions WHERE id = ?1 AND updated > ?6"
)
_ADD_TEXT = "INSERT OR IGNORE INTO texts (session, digest, text) VALUES (?, ?, ?)"
_CALLS = (
    "SELECT record FROM calls WHERE session = ? AND created > ?"
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


class SqliteSessions(SqliteAttendance):
    """Every method raises StoreUnavailable for a locked, full, unreadable or corrupt file."""

    def __init__(self, file: SqliteFile, clock: Callable[[], float], retention: Retention) -> None:
        super().__init__(file, clock, retention)
        file.tidying.append(self._forget)
        file.indexing = words.add_some

    async def record(self, call: CallRecord, known: Sequence[StoredMessage] | None = None) -> None:
        oldest = self._clock() - self._retention.session
        session = call.session_id

        def work(db: sqlite3.Connection) -> None:
            packed = pack(call, self._newest(db, session) if known is None else known)
            place = (session, call.message_id, call.number, call.created_at)
            texts = [(session, name, text) for name, text in packed.texts.items()]
            with writing(db):
                if db.execute(_RECORD, (*place, packed.record, oldest)).rowcount == 1:
                    db.executemany(_ADD_TEXT, texts)

        await self._file.run(work)

    def _newest(self, db: sqlite3.Connection, session_id: SessionId) -> list[StoredMessage]:
        rows = db.execute(NEWEST, (session_id, words.FAR_ID, REFERRED // 2)).fetchall()
        return [m for row in rows for m in turn_of(session_id, row).messages(self._clock())]

    async def calls(self, session_id: SessionId) -> Sequence[CallRecord]:
        now = self._clock()
        kept = now - self._retention.raw, now - self._retention.session

        def work(db: sqlite3.Connection) -> list[CallRecord]:
            found = db.execute(_CALLS, (session_id, *kept)).fetchall()
            calls = [PackedCall(record) for (record,) in found]
            ids = {number for call in calls for number in call.ids}
            if not calls:
                return []
            first, last = min(ids, default=0) - 1, max(ids, default=0)
            between = "AND question_id BETWEEN ? AND ?"
            rows = db.execute(f"{TURN} {between}", (session_id, first, last)).fetchall()
            messages = contents([m for r in rows for m in turn_of(session_id, r).messages(now)])
            sql = "SELECT digest, text FROM texts WHERE session = ?"
            found = db.execute(sql, (session_id,)).fetchall()
            texts = {name: text_of(text) for name, text in found}
            return [call.call(session_id, messages, texts) for call in calls]

        return await self._file.run_in_thread(work)

    async def newest(self, wanted: Wanted, cursor: str | None, limit: int, now: float) -> Page:
        if wanted.text and (left := await self._indexed()):
            return Page([], cursor or START, waiting=left)
        last = (FAR, "") if cursor is None else position(cursor)
        if wanted.until is not None:
            last = min(last, (wanted.until, ""))
        since = 0.0 if wanted.since is None else wanted.since
        bounds = (*last, since, now - self._retention.session)
        rows = await self._file.read(lambda db: listed(db, wanted, bounds, limit + 1, now))
        more = len(rows) > limit
        return Page(rows[:limit], cursor_after(rows[limit - 1]) if more else None)

    async def of_user(self, user: str, cursor: str | None) -> UserSessions:
        def work(db: sqlite3.Connection) -> UserSessions:
            found = db.execute(_OF_USER, (bucket_of(user), user)).fetchall()
            return UserSessions([SessionId(name) for (name,) in found], None, len(found))

        return await self._file.read(work)

    async def days(self, since: str, until: str) -> Sequence[Day]:
        return await self._file.run(lambda db: days_between(db, since, until))

    async def questions(
        self, since: float, until: float, limit: int, now: float, *, gaps: bool = False
    ) -> AskedQuestions:
        is_whole = await self._indexed() == 0
        oldest = now - self._retention.session

        def work(db: sqlite3.Connection) -> AskedQuestions:
            return asked_most(db, (since, until), oldest, limit, gaps=gaps, is_whole=is_whole)

        return await self._file.read(work)

    async def _indexed(self) -> int:
        """Index the turns that wait for it, for a while. Returns the number of those left."""
        loop = asyncio.get_running_loop()
        until = loop.time() + INDEXED_FOR
        for _ in range(INDEXED_AT_ONCE):
            if loop.time() > until:
                break
            if not await self._file.run_in_thread(words.add_some):
                return 0
        return await self._file.run_in_thread(words.waiting)

    async def used(self) -> int:
        return await self._file.used()

    def _forget(self, db: sqlite3.Connection) -> bool:
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
