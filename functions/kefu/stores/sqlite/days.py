"""The sums of each day, in the SQLite file."""

from __future__ import annotations

import sqlite3

from kefu.sessions.store.overview import Day
from kefu.stores.turns import DayChange

_COLUMNS = ", ".join(Day._fields)
_DAYS = f"SELECT {_COLUMNS} FROM days WHERE date BETWEEN ? AND ? ORDER BY date"  # noqa: S608 - constant names
_NEW = (
    "INSERT OR IGNORE INTO days (date, turns, errors, prompt_tokens, completion_tokens)"
    " VALUES (?, 0, 0, 0, 0)"
)


def days_between(db: sqlite3.Connection, since: str, until: str) -> list[Day]:
    return [Day(*row) for row in db.execute(_DAYS, (since, until)).fetchall()]


def count(db: sqlite3.Connection, change: DayChange) -> None:
    """Add to the sums of a day. Must run in a transaction."""
    if not change.by:
        return
    sums = ", ".join(f"{name} = {name} + ?" for name in change.by)
    update = f"UPDATE days SET {sums} WHERE date = ?"  # noqa: S608 - constant names
    values = (*change.by.values(), change.date)
    if db.execute(update, values).rowcount == 0:
        db.execute(_NEW, (change.date,))
        db.execute(update, values)
