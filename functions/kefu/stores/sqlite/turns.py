"""Stores sessions and their messages in an SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from math import inf

from kefu.sessions.model import (
    LEASE,
    BeginResult,
    NewMessage,
    Rating,
    Retention,
    Session,
    SessionId,
    StoredMessage,
    TurnOutcome,
)
from kefu.stores.sqlite.connection import writing
from kefu.stores.sqlite.days import count
from kefu.stores.sqlite.file import SqliteFile
from kefu.stores.sqlite.rows import (
    TURN,
    add_turn,
    save_turn,
    session_columns,
    session_in,
    turn_in,
    turn_of,
)
from kefu.stores.sqlite.words import FAR_ID, remove, remove_some
from kefu.stores.turns import (
    DayChange,
    StoredTurn,
    bucket_of,
    date_of,
    ended_turn,
    is_error,
    newest_messages,
    rated,
)

OWNED = {
    "calls": "(message, number)",
    "texts": "digest",
    "turns": "question_id",
    "trim_states": "session",
}
"""The tables whose rows belong to a session, with the key columns besides `session`.

`titles` is not among them: its rows have the user, by whom an interrupted deletion is found.
"""

AT_ONCE = 20
"""Rows of each table that one transaction deletes. Few, because it holds the write lock."""

DELETED = 0.0
"""The value of `updated` that marks a session as being deleted. Readers treat it as expired."""

_FROM = " FROM sessions JOIN titles ON titles.session = id"
_SESSION = f"SELECT {session_columns()}{_FROM} WHERE id = ? AND updated > ?"
_STATE = "coalesce(trim_states.state, '')"
_WITH_STATE = (
    f"SELECT {session_columns(_STATE)}{_FROM}"
    " LEFT JOIN trim_states ON trim_states.session = id WHERE id = ? AND updated > ?"
)
_SAVE_STATE = (
    "INSERT OR REPLACE INTO trim_states (session, state)"
    " SELECT id, ?2 FROM sessions WHERE id = ?1 AND updated > ?3"
)
_BY_NUMBER = f"{TURN} AND question_id = ?"
_BY_CLIENT = f"{TURN} AND client = ?"
NEWEST = f"{TURN} AND question_id < ? ORDER BY question_id DESC LIMIT ?"
_BEGIN = (
    "INSERT INTO sessions"
    " (id, config, created, updated, turns, tokens, errors, status, lease, bucket)"
    " VALUES (?1, ?2, ?3, ?4, 1, 0, 0, 'pending', ?5, ?6)"
    " ON CONFLICT (id) DO UPDATE SET updated = ?4, turns = turns + 1, status = 'pending',"
    " lease = ?5 RETURNING turns"
)
_ADD_TITLE = "INSERT OR IGNORE INTO titles (session, title, user) VALUES (?, ?, ?)"
_BEGIN_AGAIN = "UPDATE sessions SET updated = ?, status = 'pending', lease = ? WHERE id = ?"
_MET_AGAIN = "UPDATE sessions SET updated = ?, lease = min(lease, ?) WHERE id = ?"
_SET_LEASE = "UPDATE turns SET lease = ? WHERE session = ? AND question_id = ?"
_LISTED = "UPDATE sessions SET lease = max(lease, ?) WHERE id = ? AND status = 'pending'"
_END = (
    "UPDATE sessions SET status = ?, errors = errors + ?, tokens = tokens + ?,"
    " unanswered = unanswered + ? WHERE id = ?"
)
_UNANSWERED = "SELECT unanswered FROM asked WHERE session = ? AND question_id = ?"
ASKED = "INSERT INTO asked (session, question_id, at, unanswered, down) VALUES (?, ?, ?, ?, ?)"
_PURGE = [
    f"DELETE FROM {table} WHERE session = ?1 AND {key} IN"  # noqa: S608 - constant names
    f" (SELECT {key.strip('()')} FROM {table} WHERE session = ?1 LIMIT ?2)"
    for table, key in OWNED.items()
]
_RATED = (
    "SELECT question_id, rating, answered FROM turns"
    " WHERE session = ? AND client = ? AND answer <> ''"
)
_RATE = "UPDATE turns SET rating = ?, comment = ? WHERE session = ? AND question_id = ?"
_RATE_ASKED = "UPDATE asked SET down = ? WHERE session = ? AND question_id = ?"
_COUNT_RATING = "UPDATE sessions SET ups = ups + ?, downs = downs + ? WHERE id = ?"


class SqliteTurns:
    """Every method raises StoreUnavailable for a locked, full, unreadable or corrupt file."""

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
        wanted = session_id, self._clock() - self._retention.session

        def work(db: sqlite3.Connection) -> Session | None:
            row = db.execute(_WITH_STATE, wanted).fetchone()
            return session_in(row) if row else None

        return await self._file.run(work)

    async def begin(self, session: Session, asked: NewMessage, now: float) -> BeginResult:
        def work(db: sqlite3.Connection) -> BeginResult:
            with writing(db):
                return self._begin(db, session, asked, now)

        return await self._file.run(work)

    def _begin(
        self, db: sqlite3.Connection, session: Session, asked: NewMessage, now: float
    ) -> BeginResult:
        if self._session(db, session.id, now) is None:
            if session.created_at != now:
                raise KeyError(session.id)
            purge(db, session.id)
        client = asked.client_message_id
        turn = None if client is None else turn_in(db, _BY_CLIENT, session.id, client)
        lease = now + LEASE
        if turn is not None:
            if again := turn.met_again(asked, now):
                db.execute(_MET_AGAIN, (now, lease, session.id))
                if turn.is_ahead(now):
                    db.execute(_SET_LEASE, (lease, session.id, turn.question_id))
                return again
            db.execute(_BEGIN_AGAIN, (now, lease, session.id))
            turn = turn.begun_again(asked, now)
            if not turn.answer:
                remove(db, session.id, turn.question_id)
            save_turn(db, turn)
            return BeginResult(turn.message(now), again=turn.again, replaces=bool(turn.answer))
        bucket = bucket_of(session.user)
        first = (session.id, session.config_id, session.created_at, now, lease, bucket)
        [(turns,)] = db.execute(_BEGIN, first).fetchall()
        if turns == 1:
            db.execute(_ADD_TITLE, (session.id, session.title, session.user))
        turn = StoredTurn.begun(session.id, 2 * turns - 1, asked, now)
        add_turn(db, turn)
        return BeginResult(turn.message(now))

    async def renew(self, session_id: SessionId, message_id: int, again: int, now: float) -> bool:
        lease = now + LEASE

        def work(db: sqlite3.Connection) -> bool:
            with writing(db):
                turn = self._turn(db, session_id, message_id, now)
                if turn is None or not turn.runs_for(again):
                    return False
                db.execute(_SET_LEASE, (lease, session_id, message_id))
                db.execute(_LISTED, (lease, session_id))
            return True

        return await self._file.run(work)

    async def finish(
        self, session_id: SessionId, message_id: int, ended: TurnOutcome, now: float, again: int = 0
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
    ) -> StoredTurn | None:
        there = self._session(db, session_id, now)
        return turn_in(db, _BY_NUMBER, session_id, message_id) if there else None

    def _finish(
        self, db: sqlite3.Connection, turn: StoredTurn, ended: TurnOutcome, now: float
    ) -> StoredTurn:
        error = is_error(ended)
        tokens = ended.prompt_tokens, ended.completion_tokens
        place = (turn.session_id, turn.question_id)
        count(db, ended_turn(turn, ended, now))
        was = db.execute(_UNANSWERED, place).fetchone() or (0,)
        remove(db, *place)
        turn = turn._replace(unanswered=bool(was[0])).ended(ended, now)
        save_turn(db, turn)
        by = turn.unanswered - was[0]
        db.execute(_END, (ended.status, error, sum(tokens), by, turn.session_id))
        db.execute(ASKED, (*place, turn.answered_at, turn.unanswered, turn.rating == "down"))
        return turn

    async def messages(
        self, session_id: SessionId, *, before: int | None = None, limit: int = 20, now: float
    ) -> Sequence[StoredMessage]:
        last = FAR_ID if before is None else before

        def work(db: sqlite3.Connection) -> list[StoredMessage]:
            if self._session(db, session_id, now) is None:
                return []
            with closing(db.execute(NEWEST, (session_id, last, limit))) as rows:
                turns = (turn_of(session_id, row) for row in rows)
                return newest_messages(turns, before, limit, now)

        return await self._file.run(work)

    async def rate(
        self,
        session_id: SessionId,
        client_message_id: str,
        rating: Rating | None,
        comment: str = "",
    ) -> bool:
        def work(db: sqlite3.Connection) -> bool:
            if self._session(db, session_id, self._clock()) is None:
                return False
            with writing(db):
                found = db.execute(_RATED, (session_id, client_message_id)).fetchone()
                if found:
                    self._rate(db, session_id, found, rating, comment)
            return found is not None

        return await self._file.run(work)

    def _rate(
        self,
        db: sqlite3.Connection,
        session_id: SessionId,
        found: tuple[int, Rating | None, float],
        rating: Rating | None,
        comment: str,
    ) -> None:
        question_id, before, answered = found
        db.execute(_RATE, (rating, comment, session_id, question_id))
        db.execute(_RATE_ASKED, (rating == "down", session_id, question_id))
        by = rated(before, rating)
        db.execute(_COUNT_RATING, (by.get("ups", 0), by.get("downs", 0), session_id))
        count(db, DayChange(date_of(answered), by))

    async def save_trim_state(self, session_id: SessionId, state: str) -> None:
        row = session_id, state, self._clock() - self._retention.session
        await self._file.run(lambda db: db.execute(_SAVE_STATE, row).rowcount)

    async def delete(self, session_id: SessionId) -> None:
        def part(db: sqlite3.Connection) -> bool:
            with writing(db):
                return purge_part(db, session_id, DELETED)

        mark = "UPDATE sessions SET updated = ? WHERE id = ?"
        await self._file.run(lambda db: db.execute(mark, (DELETED, session_id)).rowcount)
        while await self._file.run_in_thread(part):
            pass
        await self._file.wipe()

    def _session(self, db: sqlite3.Connection, session_id: str, now: float) -> Session | None:
        oldest = now - self._retention.session
        row = db.execute(_SESSION, (session_id, oldest)).fetchone()
        return session_in(row) if row else None


def purge(db: sqlite3.Connection, session_id: str) -> None:
    """Delete all rows of a session."""
    while purge_part(db, session_id, inf):
        pass


def purge_part(db: sqlite3.Connection, session_id: str, latest: float) -> bool:
    """Delete some rows of a session if its `updated` is at most `latest`.

    Returns True if there are more rows. The rows in `titles` and `sessions` are deleted last, so
    that `of_user` and a later clean-up find a session whose deletion was interrupted.
    """
    found = db.execute("SELECT updated FROM sessions WHERE id = ?", (session_id,)).fetchone()
    if found is None or found[0] > latest:
        return False
    if remove_some(db, session_id):  # first, because it reads the texts
        return True
    gone = [db.execute(sql, (session_id, AT_ONCE)).rowcount for sql in _PURGE]
    if max(gone) == AT_ONCE:
        return True
    db.execute("DELETE FROM titles WHERE session = ?", (session_id,))
    db.execute("DELETE FROM sessions WHERE id = ?", (session_id,))
    return False
