"""Translates the stores' statements, which are written for SQLite, into those of PostgreSQL.

Both engines share `INSERT … ON CONFLICT`, `RETURNING`, row values and window functions. The rest is
translated by a few rules, once for each text. docs/decisions/0007-sqlite-on-the-event-loop.md
compares this with SQLAlchemy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import count
from typing import Any, Final

_KEYS: Final = {
    "answers": "id",
    "calls": "session, message, number",
    "cooldowns": "key",
    "trim_states": "session",
}
"""The primary keys of the tables with `INSERT OR REPLACE`."""

_WORDS: Final = {
    "INSERT INTO word_index (word_index, rowid, words) VALUES ('delete', ?, ?)": (
        "DELETE FROM word_index WHERE rowid = $1 AND $2::text IS NOT NULL"
    ),
}
"""Statements of the index of words. PostgreSQL's has rows that are deleted by their numbers."""

_MATCH: Final = "words @@ replace(replace(?, ' OR ', ' | '), ' AND ', ' & ')::tsquery"

_REPLACE: Final = re.compile(r"INSERT OR REPLACE INTO (\w+) \(([^)]*)\)(.*)", re.DOTALL)
_PARAMETER: Final = re.compile(r"\?(\d*)")

ESCAPE: Final = "\x1a"
"""Begins a replaced character: a text of PostgreSQL has no NUL, but that of a visitor may."""


@cache
def translated(sql: str, before: int = 0) -> str:
    """The statement with PostgreSQL's parameters, `$1` and so on, after so many others."""
    if sql in _WORDS:
        return _WORDS[sql]
    sql = re.sub(r" INDEXED BY \w+", "", sql)
    sql = sql.replace("word_index MATCH ?", _MATCH)
    sql = re.sub(r"\buser\b", '"user"', sql)  # otherwise the name of the database's user
    if sql.startswith("INSERT OR IGNORE"):
        sql = sql.replace("INSERT OR IGNORE", "INSERT", 1) + " ON CONFLICT DO NOTHING"
    sql = _REPLACE.sub(_upsert, sql)
    numbers = count(1)
    return _PARAMETER.sub(lambda found: f"${before + int(found[1] or next(numbers))}", sql)


@cache
def joined(changes: tuple[tuple[str, int], ...]) -> str:
    """One statement for all of these, each with its number of parameters."""
    texts, before = list[str](), 0
    for sql, parameters in changes:
        texts.append(translated(sql, before))
        before += parameters
    *first, last = texts
    return f"WITH {', '.join(f'change_{n} AS ({sql})' for n, sql in enumerate(first))} {last}"


def _upsert(found: re.Match[str]) -> str:
    table, columns, rest = found.groups()
    # A deletion of the chat waits until the row is there, and so deletes it.
    held = " FOR SHARE" if " FROM sessions" in rest else ""
    changes = ", ".join(f"{one} = excluded.{one}" for one in columns.split(", "))
    return (
        f"INSERT INTO {table} ({columns}){rest}{held}"
        f" ON CONFLICT ({_KEYS[table]}) DO UPDATE SET {changes}"
    )


def escaped(values: Sequence[Any]) -> Sequence[Any]:
    """The parameters, without NUL characters."""
    if any(type(one) is str and ("\0" in one or ESCAPE in one) for one in values):
        return [_escaped(one) if type(one) is str else one for one in values]
    return values


def _escaped(text: str) -> str:
    return text.replace(ESCAPE, f"{ESCAPE}1").replace("\0", f"{ESCAPE}0")


def restored(row: Sequence[Any]) -> Sequence[Any]:
    """The values before `escaped`."""
    if any(type(one) is str and ESCAPE in one for one in row):
        return tuple(_restored(one) if type(one) is str else one for one in row)
    return row


def _restored(text: str) -> str:
    return text.replace(f"{ESCAPE}0", "\0").replace(f"{ESCAPE}1", ESCAPE)
