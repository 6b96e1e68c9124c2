"""Sessions and their messages in an SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing

from kefu.sessions import (
    LEASE,
    Asked,
    Begun,
    Ended,
    Rating,
    Retention,
    Session,
    SessionId,
    StoredMessage,
)
from kefu.stores.sqlite_file import SqliteFile, writing
from kefu.stores.turns import Turn, date_of, is_error, newest_messages

TABLES = ("calls", "texts", "turns")
"""Whose rows belong to a session."""

FAR_ID = 1 << 62
"""No message has it."""

_SESSION = "SELECT id, title, config, created, updated FROM sessions WHERE id = ? AND updated > ?"
TURN = (
    "SELECT question_id, question, status, lease, asked, client, answer, answered, rating, again"
    " FROM turns WHERE session = ?"
)
_BY_NUMBER = f"{TURN} AND question_id = ?"
_BY_CLIENT = f"{TURN} AND client = ?"
NEWEST = f"{TURN} AND question_id < ? ORDER BY question_id DESC LIMIT ?"
_BEGIN = (
    "INSERT INTO sessions VALUES (?1, ?2, ?3, ?4, ?5, 1, 0, 0, 'pending', ?6)"
    " ON CONFLICT (id) DO UPDATE SET updated = ?5, turns = turns + 1, status = 'pending',"
    " lease = ?6 RETURNING turns"
)
_BEGIN_AGAIN = "UPDATE sessions SET updated = ?, status = 'pending', lease = ? WHERE id = ?"
_ADD_TURN = "INSERT INTO turns VALUES (?, ?, ?, 'pending', ?, ?, ?, '', 0, NULL, 0)"
_REOPEN = (
    "UPDATE turns SET status = 'pending', lease = ?, answer = '', again = again + 1"
    " WHERE session = ? AND question_id = ?"
)
_RENEW = (
    "UPDATE turns SET lease = ? WHERE session = ? AND question_id = ? AND again = ?"
    " AND status = 'pending' AND lease > ?"
)
_LISTED = "UPDATE sessions SET lease = max(lease, ?) WHERE id = ? AND status = 'pending'"
_END_TURN = (
    "UPDATE turns SET status = ?, answer = ?, answered = ? WHERE session = ? AND question_id = ?"
)
_END = "UPDATE sessions SET status = ?, errors = errors + ?, tokens = tokens + ? WHERE id = ?"
_COUNT = (
    "INSERT INTO days VALUES (?, 1, ?, ?, ?) ON CONFLICT (date) DO UPDATE SET turns = turns + 1,"
    " errors = errors + excluded.errors, prompt_tokens = prompt_tokens + excluded.prompt_tokens,"
    " completion_tokens = completion_tokens + excluded.completion_tokens"
)
_RATE = "UPDATE turns SET rating = ? WHERE session = ? AND client = ? AND answer <> ''"


class SqliteTurns:
    """Every method raises StoreUnavailable on a locked, full, unreadable or broken file."""

    def __init__(self, file: SqliteFile, clock: Callable[[], float], retention: Retention) -> None:
        self._file = file
        self._clock = clock
        self._retention = retention

    async def secret(self, candidate: str) -> str:
        def work(db: sqlite3.Connection) -> str:
            db.execute("INSERT OR IGNORE INTO secrets VALUES ('sessions', ?)", (candidate,))
            found = db.execute("SELECT value FROM secrets WHERE name = 'sessions'").fetchone()
            return str(found[0])

        return await self._file.run(work)

    async def session(self, session_id: SessionId) -> Session | None:
        return await self._file.run(lambda db: self._session(db, session_id, self._clock()))

    async def begin(self, session: Session, asked: Asked, now: float) -> Begun:
        def work(db: sqlite3.Connection) -> Begun:
            with writing(db):
                return self._begin(db, session, asked, now)

        return await self._file.run(work)

    def _begin(self, db: sqlite3.Connection, session: Session, asked: Asked, now: float) -> Begun:
        if self._session(db, session.id, now) is None:
            if session.created_at != now:
                raise KeyError(session.id)
            purge(db, session.id)
        client = asked.client_message_id
        turn = None if client is None else turn_in(db, _BY_CLIENT, session.id, client)
        lease = now + LEASE
        if turn is not None:
            if again := turn.met_again(now):
                db.execute("UPDATE sessions SET updated = ? WHERE id = ?", (now, session.id))
                return again
            db.execute(_BEGIN_AGAIN, (now, lease, session.id))
            db.execute(_REOPEN, (lease, session.id, turn.question_id))
            turn = turn.begun_again(now)
            return Begun(turn.message(now), again=turn.again)
        first = (session.id, session.title, session.config_id, session.created_at, now, lease)
        [(turns,)] = db.execute(_BEGIN, first).fetchall()
        turn = Turn.begun(session.id, 2 * turns - 1, asked, now)
        db.execute(_ADD_TURN, (session.id, turn.question_id, turn.question, lease, now, client))
        return Begun(turn.message(now))

    async def renew(self, session_id: SessionId, message_id: int, again: int, now: float) -> bool:
        lease = now + LEASE
        renewed = (lease, session_id, message_id, again, now - LEASE)

        def work(db: sqlite3.Connection) -> bool:
            with writing(db):
                mine = db.execute(_RENEW, renewed).rowcount == 1
                if mine:
                    db.execute(_LISTED, (lease, session_id))
            return mine

        return await self._file.run(work)

    async def finish(
        self, session_id: SessionId, message_id: int, ended: Ended, now: float, again: int = 0
    ) -> StoredMessage | None:
        def work(db: sqlite3.Connection) -> StoredMessage | None:
            with writing(db):
                turn = self._turn(db, session_id, message_id, now)
                if turn and turn.runs_for(again):
                    turn = self._finish(db, turn, ended, now)
            return turn.answer_message(now) if turn else None

        return await self._file.run(work)

    def _turn(
        self, db: sqlite3.Connection, session_id: SessionId, message_id: int, now: float
    ) -> Turn | None:
        there = self._session(db, session_id, now)
        return turn_in(db, _BY_NUMBER, session_id, message_id) if there else None

    def _finish(self, db: sqlite3.Connection, turn: Turn, ended: Ended, now: float) -> Turn:
        error = is_error(ended)
        tokens = ended.prompt_tokens, ended.completion_tokens
        place = (turn.session_id, turn.question_id)
        db.execute(_END_TURN, (ended.status, ended.text, now, *place))
        db.execute(_END, (ended.status, error, sum(tokens), turn.session_id))
        db.execute(_COUNT, (date_of(now), error, *tokens))
        return turn._replace(status=ended.status, answer=ended.text, answered_at=now)

    async def messages(
        self, session_id: SessionId, *, before: int | None = None, limit: int = 20, now: float
    ) -> Sequence[StoredMessage]:
        last = FAR_ID if before is None else before

        def work(db: sqlite3.Connection) -> list[StoredMessage]:
            if self._session(db, session_id, now) is None:
                return []
            with closing(db.execute(NEWEST, (session_id, last, limit))) as rows:
                turns = (Turn(session_id, *row) for row in rows)
                return newest_messages(turns, before, limit, now)

        return await self._file.run(work)

    async def rate(
        self, session_id: SessionId, client_message_id: str, rating: Rating | None
    ) -> bool:
        def work(db: sqlite3.Connection) -> bool:
            if self._session(db, session_id, self._clock()) is None:
                return False
            return db.execute(_RATE, (rating, session_id, client_message_id)).rowcount == 1

        return await self._file.run(work)

    async def delete(self, session_id: SessionId) -> None:
        def work(db: sqlite3.Connection) -> None:
            with writing(db):
                purge(db, session_id)
            self._file.wipe(db)

        await self._file.run_in_thread(work)

    def _session(self, db: sqlite3.Connection, session_id: str, now: float) -> Session | None:
        oldest = now - self._retention.session
        row = db.execute(_SESSION, (session_id, oldest)).fetchone()
        return Session(*row) if row else None


def turn_in(db: sqlite3.Connection, sql: str, session_id: SessionId, key: object) -> Turn | None:
    row = db.execute(sql, (session_id, key)).fetchone()
    return Turn(session_id, *row) if row else None


def purge(db: sqlite3.Connection, session_id: str) -> None:
    """Everything of a session."""
    for table in TABLES:
        db.execute(f"DELETE FROM {table} WHERE session = ?", (session_id,))  # noqa: S608 - ours
    db.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
