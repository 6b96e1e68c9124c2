"""Stores sessions and their messages in an SQL database."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from kefu.sessions.store.model import (
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
from kefu.stores.sql.database import Database, SqlConnection, hold, writing
from kefu.stores.sql.rows import (
    DELETED_MARK,
    TURN,
    add_turn,
    count,
    count_calls,
    purge,
    purge_part,
    save_turn,
    session_columns,
    session_in,
    turn_in,
    turn_of,
)
from kefu.stores.sql.words import FAR_ID, remove
from kefu.stores.turns import (
    DayChange,
    StoredTurn,
    bucket_of,
    date_of,
    ended_turn,
    is_error,
    is_soon,
    newest_messages,
    rated,
)

_KEPT = "SELECT 1 FROM sessions WHERE id = ? AND updated > ?"
_STATE = "coalesce(trim_states.state, '')"
_SESSION = (
    f"SELECT {session_columns(_STATE)}"  # noqa: S608 - constant names
    " FROM sessions JOIN titles ON titles.session = id"
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
    " ON CONFLICT (id) DO UPDATE SET updated = ?4, turns = sessions.turns + 1, status = 'pending',"
    " lease = ?5 RETURNING turns"
)
_ADD_TITLE = "INSERT OR IGNORE INTO titles (session, title, user) VALUES (?, ?, ?)"
_BEGIN_AGAIN = "UPDATE sessions SET updated = ?, status = 'pending', lease = ? WHERE id = ?"
_MET_AGAIN = (
    "UPDATE sessions SET updated = ?1, lease = CASE WHEN lease < ?2 THEN lease ELSE ?2 END"
    " WHERE id = ?3"
)
_SET_LEASE = "UPDATE turns SET lease = ? WHERE session = ? AND question_id = ?"
_SET_STEPS = "UPDATE turns SET steps = ? WHERE session = ? AND question_id = ?"
_LISTED = (
    "UPDATE sessions SET lease = CASE WHEN lease > ?1 THEN lease ELSE ?1 END"
    " WHERE id = ?2 AND status = 'pending'"
)
_END = (
    "UPDATE sessions SET status = ?, errors = errors + ?, tokens = tokens + ?,"
    " unanswered = unanswered + ? WHERE id = ?"
)
_FORMER = (
    "SELECT (SELECT unanswered FROM asked WHERE session = ?1 AND question_id = ?2),"
    " (SELECT asked FROM turns WHERE session = ?1 AND question_id < ?2 AND operator = ''"
    " ORDER BY question_id DESC LIMIT 1)"
)
"""Whether the turn was unanswered, NULL if it has not ended before; and when the last one began."""
ASKED = "INSERT INTO asked (session, question_id, at, unanswered, down) VALUES (?, ?, ?, ?, ?)"
_RATED = (
    "SELECT question_id, rating, answered FROM turns"
    " WHERE session = ? AND client = ? AND answer <> ''"
)
_RATE = "UPDATE turns SET rating = ?, comment = ? WHERE session = ? AND question_id = ?"
_RATE_ASKED = "UPDATE asked SET down = ? WHERE session = ? AND question_id = ?"
_COUNT_RATING = "UPDATE sessions SET ups = ups + ?, downs = downs + ? WHERE id = ?"


P = ParamSpec("P")
S = TypeVar("S", bound="SqlTurns")
T = TypeVar("T")
_Work = Callable[Concatenate[S, SqlConnection, P], T]
_Call = Callable[Concatenate[S, P], Coroutine[Any, Any, T]]


def quick(method: _Work[S, P, T]) -> _Call[S, P, T]:
    """Make a method run by `Database.run`, which passes the connection."""

    @wraps(method)
    async def call(self: S, /, *args: P.args, **named: P.kwargs) -> T:
        return await self._file.run(lambda db: method(self, db, *args, **named))

    return call


def transaction(method: _Work[S, P, T]) -> _Call[S, P, T]:
    """Like `quick`, in a transaction that writes."""

    @wraps(method)
    def work(self: S, db: SqlConnection, /, *args: P.args, **named: P.kwargs) -> T:
        with writing(db):
            return method(self, db, *args, **named)

    return quick(work)


class SqlTurns:
    """Every method raises StoreUnavailable when the database fails."""

    def __init__(self, file: Database, clock: Callable[[], float], retention: Retention) -> None:
        self._file = file
        self._clock = clock
        self._retention = retention

    @quick
    def secret(self, db: SqlConnection, candidate: str) -> str:
        db.execute("INSERT OR IGNORE INTO secrets VALUES ('sessions', ?)", (candidate,))
        found = db.execute("SELECT value FROM secrets WHERE name = 'sessions'").fetchone()
        return str(found[0])

    @quick
    def session(self, db: SqlConnection, session_id: SessionId) -> Session | None:
        row = db.execute(_SESSION, (session_id, self._oldest(self._clock()))).fetchone()
        return session_in(row) if row else None

    @transaction
    def begin(
        self, db: SqlConnection, session: Session, asked: NewMessage, now: float
    ) -> BeginResult:
        hold(db, session.id)
        if not self._is_kept(db, session.id, now):
            if session.created_at != now:
                raise KeyError(session.id)
            purge(db, session.id)
        client = asked.client_message_id
        turn = None if client is None else turn_in(db, _BY_CLIENT, session.id, client)
        if turn is not None:
            return _begin_again(db, turn, asked, now)
        bucket = bucket_of(session.user)
        first = (session.id, session.config_id, session.created_at, now, now + LEASE, bucket)
        [(turns,)] = db.execute(_BEGIN, first).fetchall()
        if turns == 1:
            db.execute(_ADD_TITLE, (session.id, session.title, session.user))
        turn = StoredTurn.begun(session.id, 2 * turns - 1, asked, now)
        add_turn(db, turn)
        return BeginResult(turn.message(now))

    @transaction
    def renew(
        self,
        db: SqlConnection,
        session_id: SessionId,
        message_id: int,
        retries: int,
        now: float,
        steps: str | None = None,
    ) -> bool:
        turn = self._turn(db, session_id, message_id, now)
        if turn is None or not turn.runs_for(retries):
            return False
        db.execute(_SET_LEASE, (now + LEASE, session_id, message_id))
        db.execute(_LISTED, (now + LEASE, session_id))
        if steps is not None:
            db.execute(_SET_STEPS, (steps, session_id, message_id))
        return True

    @transaction
    def finish(
        self,
        db: SqlConnection,
        session_id: SessionId,
        message_id: int,
        ended: TurnOutcome,
        now: float,
        retries: int = 0,
    ) -> StoredMessage | None:
        turn = self._turn(db, session_id, message_id, now)
        if turn and turn.runs_for(retries):
            turn = _finish(db, turn, ended, now)
        return turn.answer_message(now) if turn else None

    def _turn(
        self, db: SqlConnection, session_id: SessionId, message_id: int, now: float
    ) -> StoredTurn | None:
        """A turn that the transaction may change."""
        hold(db, session_id)
        there = self._is_kept(db, session_id, now)
        return turn_in(db, _BY_NUMBER, session_id, message_id) if there else None

    @quick
    def messages(
        self,
        db: SqlConnection,
        session_id: SessionId,
        *,
        before: int | None = None,
        limit: int = 20,
        now: float,
    ) -> Sequence[StoredMessage]:
        if not self._is_kept(db, session_id, now):
            return []
        last = FAR_ID if before is None else before
        with closing(db.execute(NEWEST, (session_id, last, limit))) as rows:
            return newest_messages(map(partial(turn_of, session_id), rows), before, limit, now)

    @transaction
    def rate(
        self,
        db: SqlConnection,
        session_id: SessionId,
        client_message_id: str,
        rating: Rating | None,
        comment: str = "",
    ) -> bool:
        hold(db, session_id)
        kept = self._is_kept(db, session_id, self._clock())
        found = db.execute(_RATED, (session_id, client_message_id)).fetchone() if kept else None
        if found is None:
            return False
        question_id, before, answered = found
        db.execute(_RATE, (rating, comment, session_id, question_id))
        db.execute(_RATE_ASKED, (rating == "down", session_id, question_id))
        by = rated(before, rating)
        db.execute(_COUNT_RATING, (by.get("ups", 0), by.get("downs", 0), session_id))
        count(db, DayChange(date_of(answered), by))
        return True

    @quick
    def save_trim_state(self, db: SqlConnection, session_id: SessionId, state: str) -> None:
        db.execute(_SAVE_STATE, (session_id, state, self._oldest(self._clock())))

    async def delete(self, session_id: SessionId) -> None:
        def part(db: SqlConnection) -> bool:
            with writing(db):
                return purge_part(db, session_id, DELETED_MARK)

        mark = "UPDATE sessions SET updated = ? WHERE id = ?"
        await self._file.run(lambda db: db.execute(mark, (DELETED_MARK, session_id)).rowcount)
        while await self._file.run_in_thread(part):
            pass
        await self._file.wipe()

    def _is_kept(self, db: SqlConnection, session_id: str, now: float) -> bool:
        """Whether a session is there, and has not expired."""
        return db.execute(_KEPT, (session_id, self._oldest(now))).fetchone() is not None

    def _oldest(self, now: float) -> float:
        """Sessions that were last used before this time have expired."""
        return now - self._retention.session


def _begin_again(db: SqlConnection, turn: StoredTurn, asked: NewMessage, now: float) -> BeginResult:
    place = (turn.session_id, turn.question_id)
    lease = now + LEASE
    if again := turn.met_again(asked, now):
        db.execute(_MET_AGAIN, (now, lease, turn.session_id))
        if turn.is_ahead(now):
            db.execute(_SET_LEASE, (lease, *place))
        return again
    db.execute(_BEGIN_AGAIN, (now, lease, turn.session_id))
    turn = turn.begun_again(asked, now)
    if not turn.answer:
        remove(db, *place)
    save_turn(db, turn)
    return BeginResult(turn.message(now), retries=turn.retries, replaces=bool(turn.answer))


def _finish(db: SqlConnection, turn: StoredTurn, ended: TurnOutcome, now: float) -> StoredTurn:
    tokens = ended.prompt_tokens + ended.completion_tokens
    place = (turn.session_id, turn.question_id)
    former, last_asked = db.execute(_FORMER, place).fetchone()
    follows = last_asked is not None and is_soon(last_asked, turn.asked_at)
    count(db, ended_turn(turn._replace(follows=follows), ended, now))
    was = bool(former)
    if former is not None:
        remove(db, *place)
    turn = turn._replace(unanswered=was).ended(ended, now)
    save_turn(db, turn)
    by = turn.unanswered - was
    db.execute(_END, (ended.status, int(is_error(ended)), tokens, by, turn.session_id))
    if ended.steps:
        count_calls(db, turn.session_id, ended.steps, now)
    db.execute(ASKED, (*place, turn.answered_at, turn.unanswered, turn.rating == "down"))
    return turn
