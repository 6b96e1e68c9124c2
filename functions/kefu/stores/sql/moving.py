"""Copies a whole SQL database into another one, SQLite or PostgreSQL: chats, requests, answers.

Ids, times and the key that signs session tokens stay, so visitors go on with their chats. Rows that
are there already are left as they are: a copy that was interrupted is repeated. Both databases are
then compared, by the number of rows and a sum of hashes.

The index of words is made again by the new database. Cooldowns and rates are not copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final, NamedTuple

from kefu.stores.sql.database import Database, SqlConnection, writing

AT_ONCE: Final = 500
"""Rows of one transaction."""
LARGE_AT_ONCE: Final = 10
"""Rows of one transaction with images, which have up to a megabyte each."""

TABLES: Final = {
    "secrets": "name",
    "sessions": "id",
    "titles": "session",
    "turns": "session, question_id",
    "calls": "session, message, number",
    "images": "session, message, number",
    "texts": "session, digest",
    "trim_states": "session",
    "contacts": "id",
    "answers": "id",
    "passes": "id",
    "days": "date",
    "tool_days": "date, tool",
    "budgets": "budget",
    "asked": "session, question_id",
}
"""The tables that are copied, with their keys."""

_MADE_HERE: Final = {"fill", "indexed", "topic"}
"""Columns that the new database fills by itself."""

_FLAGS: Final = ("unanswered", "down")
"""The columns of `asked` that are true or false. SQLite has numbers for them."""


class Content(NamedTuple):
    """What a table contains, to compare it with another one."""

    rows: int = 0
    hashes: int = 0
    """The sum of the hashes of all rows, whatever their order."""


class Difference(NamedTuple):
    table: str
    source: Content
    target: Content


async def move(
    source: Database, target: Database, on_rows: Callable[[str, int], None]
) -> Sequence[Difference]:
    """Copy all rows. Returns the tables that differ afterwards; none if all was copied.

    `on_rows` is called with each table and the number of its copied rows. Raises StoreUnavailable.
    """
    differences = []
    for table, key in TABLES.items():
        columns = await source.run_in_thread(partial(_columns, table=table))
        part = partial(_part, table=table, key=key, columns=columns)
        last: tuple[Any, ...] | None = None
        done = 0
        while rows := await source.run_in_thread(partial(part, after=last)):
            last = _key_of(rows[-1], columns, key)
            await target.run_in_thread(partial(_add, table=table, columns=columns, rows=rows))
            done += len(rows)
            on_rows(table, done)
        content = partial(_content, table=table, key=key, columns=columns)
        here, there = [await one.run_in_thread(content) for one in (source, target)]
        if here != there:
            differences.append(Difference(table, here, there))
    await target.run_in_thread(_tell_of_answers)
    return differences


def _tell_of_answers(db: SqlConnection) -> None:
    """Let servers read the answers of people again."""
    db.execute("UPDATE answers_version SET version = version + 1")


def _columns(db: SqlConnection, table: str) -> Sequence[str]:
    """The columns of the table that are copied, in the same order for both engines."""
    found = db.execute(f"SELECT * FROM {table} LIMIT 0")  # noqa: S608 - constant names
    made = _MADE_HERE | ({"id"} if table == "asked" else set())
    return sorted(column[0] for column in found.description if column[0] not in made)


def _part(
    db: SqlConnection, table: str, key: str, columns: Sequence[str], after: tuple[Any, ...] | None
) -> Sequence[tuple[Any, ...]]:
    where = f" WHERE ({key}) > ({_marks(after)})" if after else ""
    limit = LARGE_AT_ONCE if table == "images" else AT_ONCE
    sql = f"SELECT {', '.join(columns)} FROM {table}{where} ORDER BY {key} LIMIT {limit}"  # noqa: S608
    rows = db.execute(sql, after or ()).fetchall()
    return [_plain(table, columns, row) for row in rows]


def _plain(table: str, columns: Sequence[str], row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row with the same types for both engines."""
    flags = _FLAGS if table == "asked" else ()
    return tuple(
        bool(value) if column in flags else value
        for column, value in zip(columns, row, strict=True)
    )


def _key_of(row: tuple[Any, ...], columns: Sequence[str], key: str) -> tuple[Any, ...]:
    named = dict(zip(columns, row, strict=True))
    return tuple(named[one] for one in key.split(", "))


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" for _ in values)


def _add(
    db: SqlConnection, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    sql = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({_marks(columns)})"  # noqa: S608
    with writing(db):
        db.executemany(sql, rows)


def _content(db: SqlConnection, table: str, key: str, columns: Sequence[str]) -> Content:
    found, last = Content(), None
    while rows := _part(db, table, key, columns, last):
        found = Content(found.rows + len(rows), (found.hashes + sum(_hashes(rows))) % (1 << 64))
        last = _key_of(rows[-1], columns, key)
    return found


def _hashes(rows: Sequence[tuple[Any, ...]]) -> Iterator[int]:
    for row in rows:
        text = repr(row).encode("utf-8", "replace")
        yield int.from_bytes(sha256(text).digest()[:8], "big")
