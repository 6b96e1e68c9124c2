"""Stores sessions and their messages in an SQL database."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from functools import partial, wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

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
from kefu.stores.sql.database import Change, Database, SqlConnection, apply, hold, writing
from kefu.stores.sql.rows import (
    DELETED_MARK,
    TURN,
    TURN_COLUMNS,
    count,
    count_calls,
    counted,
    purge,
    purge_part,
    session_columns,
    session_in,
    turn_added,
    turn_of,
    turn_saved,
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

_IS_KEPT = "EXISTS (SELECT 1 FROM sessions WHERE id = ?1 AND updated > ?3)"
_STATE = "coalesce(trim_states.state, '')"
_SESSION = (
    f"SELECT {session_columns(_STATE)}"  # noqa: S608 - constant names
    " FROM sessions JOIN titles ON titles.session = id"
    " LEFT JOIN trim_states ON trim_states.session = id WHERE id = ? AND updated > ?"
)
SAVE_STATE = (
    "INSERT OR REPLACE INTO trim_states (session, state)"
    " SELECT id, ?2 FROM sessions WHERE id = ?1 AND updated > ?3"
)
_BY_CLIENT = (
    f"SELECT sessions.turns, {TURN_COLUMNS} FROM sessions"  # noqa: S608 - constant names
    " LEFT JOIN turns ON turns.session = id AND client = ? WHERE id = ? AND updated > ?"
)
_FORMER = (
    "SELECT former.asked FROM turns AS former WHERE former.session = turns.session"
    " AND former.question_id < turns.question_id AND former.operator = ''"
    " ORDER BY former.question_id DESC LIMIT 1"
)
"""The time of the visitor's message before a turn."""
_BY_NUMBER = (
    f"SELECT asked.unanswered, ({_FORMER}), {TURN_COLUMNS} FROM sessions"  # noqa: S608
    " JOIN turns ON turns.session = sessions.id"
    " LEFT JOIN asked ON asked.session = turns.session AND asked.question_id = turns.question_id"
    " WHERE sessions.id = ? AND updated > ? AND turns.question_id = ?"
)
NEWEST = f"{TURN} AND question_id < ? AND {_IS_KEPT} ORDER BY question_id DESC LIMIT ?4"
_BEGIN = (
    "INSERT INTO sessions"
    " (id, config, created, updated, turns, tokens, errors, status, lease, bucket)"
    " VALUES (?1, ?2, ?3, ?4, 1, 0, 0, 'pending', ?5, ?6)"
    " ON CONFLICT (id) DO UPDATE SET updated = ?4, turns = sessions.turns + 1, status = 'pending',"
    " lease = ?5"
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
ASKED = "INSERT INTO asked (session, question_id, at, unanswered, down) VALUES (?, ?, ?, ?, ?)"
_RATED = (
    "SELECT question_id, rating, answered FROM turns"  # noqa: S608 - constant names
    f" WHERE session = ? AND client = ? AND answer <> '' AND {_IS_KEPT}"
)
_RATE = "UPDATE turns SET rating = ?, comment = ? WHERE session = ? AND question_id = ?"
_RATE_ASKED = "UPDATE asked SET down = ? WHERE session = ? AND question_id = ?"
_COUNT_RATING = "UPDATE sessions SET ups = ups + ?, downs = downs + ? WHERE id = ?"


class _Found(NamedTuple):
    unanswered: bool | int | None
    """Of an earlier end of the turn; None: it has not ended before."""
    former: float | None
    """The time of the visitor's message before the turn."""
    turn: StoredTurn


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
        place = (asked.client_message_id, session.id, self._oldest(now))
        found = db.execute(_BY_CLIENT, place).fetchone()
        if found is None:
            if session.created_at != now:
                raise KeyError(session.id)
            purge(db, session.id)
        before, number, *row = found or (0, None)
        if number is not None:
            return _begin_again(db, turn_of(session.id, (number, *row)), asked, now)
        turn = StoredTurn.begun(session.id, 2 * before + 1, asked, now)
        bucket = bucket_of(session.user)
        begun = (session.id, session.config_id, session.created_at, now, now + LEASE, bucket)
        changes: list[Change] = [(_BEGIN, begun), turn_added(turn)]
        if before == 0:
            changes.append((_ADD_TITLE, (session.id, session.title, session.user)))
        apply(db, changes)
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
        found = self._found(db, session_id, message_id, now)
        if found is None or not found.turn.runs_for(retries):
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
        found = self._found(db, session_id, message_id, now)
        if found is None:
            return None
        turn = _finish(db, found, ended, now) if found.turn.runs_for(retries) else found.turn
        return turn.answer_message(now)

    def _found(
        self, db: SqlConnection, session_id: SessionId, message_id: int, now: float
    ) -> _Found | None:
        """A turn that the transaction may change."""
        hold(db, session_id)
        row = db.execute(_BY_NUMBER, (session_id, self._oldest(now), message_id)).fetchone()
        return _Found(row[0], row[1], turn_of(session_id, row[2:])) if row else None

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
        last = FAR_ID if before is None else before
        place = (session_id, last, self._oldest(now), limit)
        with closing(db.execute(NEWEST, place)) as rows:
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
        place = (session_id, client_message_id, self._oldest(self._clock()))
        found = db.execute(_RATED, place).fetchone()
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
        db.execute(SAVE_STATE, (session_id, state, self._oldest(self._clock())))

    async def delete(self, session_id: SessionId) -> None:
        def part(db: SqlConnection) -> bool:
            with writing(db):
                return purge_part(db, session_id, DELETED_MARK)

        mark = "UPDATE sessions SET updated = ? WHERE id = ?"
        await self._file.run(lambda db: db.execute(mark, (DELETED_MARK, session_id)).rowcount)
        while await self._file.run_in_thread(part):
            pass
        await self._file.wipe()

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
    db.execute(*turn_saved(turn))
    return BeginResult(turn.message(now), retries=turn.retries, replaces=bool(turn.answer))


def _finish(db: SqlConnection, found: _Found, ended: TurnOutcome, now: float) -> StoredTurn:
    was, former, turn = bool(found.unanswered), found.former or 0.0, found.turn
    day = ended_turn(turn._replace(follows=is_soon(former, turn.asked_at)), ended, now)
    place = (turn.session_id, turn.question_id)
    if found.unanswered is not None:
        remove(db, *place)
    turn = turn._replace(unanswered=was).ended(ended, now)
    if ended.steps:
        count_calls(db, turn.session_id, ended.steps, now)
    tokens = ended.prompt_tokens + ended.completion_tokens
    by = (ended.status, int(is_error(ended)), tokens, turn.unanswered - was, turn.session_id)
    asked = (*place, turn.answered_at, turn.unanswered, turn.rating == "down")
    apply(db, [turn_saved(turn), (_END, by), (ASKED, asked), counted(day)])
    return turn
