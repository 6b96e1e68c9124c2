"""The operator's list as one statement, which reads the rows of a page in the order of an index.

The index is named, because without statistics SQLite may choose a longer index.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

from kefu.sessions.store.overview import LINE_LENGTH, Overview, SessionFilter
from kefu.stores.sql import words
from kefu.stores.sql.database import SqlConnection
from kefu.stores.sql.rows import SESSION_LENGTH, session_columns, session_in
from kefu.stores.turns import TOOL_COUNTERS, bucket_of, seen

_COMMENT = (
    "CASE WHEN downs > 0 THEN coalesce((SELECT comment FROM turns WHERE turns.session = sessions.id"
    " AND comment <> '' ORDER BY question_id DESC LIMIT 1), '') ELSE '' END"
)
_NEWEST = (
    "coalesce((SELECT {column} FROM turns WHERE turns.session = sessions.id"
    " ORDER BY question_id DESC LIMIT 1), '')"
)
_REQUEST = (
    "CASE WHEN state = 'waiting' THEN coalesce((SELECT message FROM contacts"
    " WHERE contacts.session = sessions.id AND contacts.session <> ''"
    " ORDER BY contacts.created DESC LIMIT 1), '') ELSE '' END"
)
_MADE = {
    "comment": _COMMENT,
    "line": _NEWEST.format(
        column="CASE WHEN operator = '' OR question <> '' THEN question ELSE answer END"
    ),
    "line_by": _NEWEST.format(column="operator"),
    "request": _REQUEST,
}
"""The columns that no table has, by the fields of Overview."""
_SHOWN = tuple(one for one in Overview._fields if one not in ("session", "status"))
_OVERVIEW = (
    f"SELECT status, lease, {session_columns()},"  # noqa: S608 - constant names
    f" {', '.join(_MADE.get(one, one) for one in _SHOWN)}"
    " FROM sessions {index} JOIN titles ON titles.session = id"
    " WHERE (updated, id) < (?, ?) AND updated >= ? AND updated > ?{filters}"
    " ORDER BY updated DESC, id DESC LIMIT ?"
)

_SHOWN_AT = 2 + SESSION_LENGTH


class _Condition(NamedTuple):
    sql: str
    values: tuple[object, ...] = ()
    by: str = ""
    """The index that has only these rows, and in the list's order; empty if there is none."""


def listed(
    db: SqlConnection,
    wanted: SessionFilter,
    bounds: tuple[object, ...],
    limit: int,
    now: float,
) -> list[Overview]:
    """The first rows that match. `bounds`: the position of the cursor, and the earliest times."""
    conditions = list(_conditions(wanted, now))
    if any("" in one.values for one in conditions):  # a search without words
        return []
    index = next((one.by for one in conditions if one.by), "")
    sql = _OVERVIEW.format(
        # A search is faster by the ids of the found turns.
        index=f"INDEXED BY {index}" if index and not wanted.text else "",
        filters="".join(f" AND {one.sql}" for one in conditions),
    )
    values = [value for one in conditions for value in one.values]
    with closing(db.execute(sql, (*bounds, *values, limit))) as rows:
        return [_overview(row, now) for row in rows]


def _conditions(wanted: SessionFilter, now: float) -> Iterator[_Condition]:
    """The conditions of a filter, most selective first.

    SQLite uses a partial index only if the statement repeats its condition.
    """
    if wanted.user:
        values = bucket_of(wanted.user), wanted.user
        yield _Condition("bucket = ? AND bucket > 0 AND user = ?", values, "sessions_user")
    if wanted.state == "bot":
        yield _Condition("state = 'bot'")
    elif wanted.state:
        yield _Condition("state = ? AND state <> 'bot'", (wanted.state,), "sessions_state")
    yield from _with_number(wanted)
    if wanted.status:
        yield _of_status(wanted.status, now)
    if wanted.config_id:
        yield _Condition("config = ?", (wanted.config_id,), "sessions_config")
    if wanted.text:
        yield _Condition(words.FOUND, (words.match(wanted.text),))


def _with_number(wanted: SessionFilter) -> Iterator[_Condition]:
    """The conditions on the counters of a chat."""
    if wanted.rating:
        yield _Condition(f"{wanted.rating}s > 0", by=f"sessions_{wanted.rating}s")
    if wanted.unanswered:
        yield _Condition("unanswered > 0", by="sessions_unanswered")
    if wanted.tool:
        name = TOOL_COUNTERS[wanted.tool]
        yield _Condition(f"{name} > 0", by=f"sessions_{name}")
    if wanted.has_error:
        yield _Condition("errors > 0", by="sessions_errors")
    elif wanted.has_error is False:
        yield _Condition("errors = 0")


def _of_status(status: str, now: float) -> _Condition:
    if status == "ok":
        return _Condition("status = 'ok'")
    if status in ("pending", "interrupted"):  # see `kefu.stores.turns.seen`
        runs = "lease > ?" if status == "pending" else "lease <= ?"
        sql = f"status = 'pending' AND status <> 'ok' AND {runs}"
        return _Condition(sql, (now,), "sessions_status")
    return _Condition("status = ? AND status <> 'ok'", (status,), "sessions_status")


def _overview(row: tuple[Any, ...], now: float) -> Overview:
    (status, lease), session, shown = row[:2], row[2:_SHOWN_AT], row[_SHOWN_AT:]
    named = dict(zip(_SHOWN, shown, strict=True))
    named |= {name: named[name][:LINE_LENGTH] for name in ("line", "request")}
    return Overview(session=session_in(session), status=seen(status, lease, now), **named)
