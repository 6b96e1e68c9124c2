"""The SQLite schema as numbered steps, forward only: `PRAGMA user_version` counts those done.

A step that has been released is never edited; a change is a new step at the end.
"""

from __future__ import annotations

import sqlite3

from kefu.errors import StoreUnavailable

MIGRATIONS: tuple[str, ...] = (
    # 1: cooldowns and limits. `expires`: when a row may be forgotten, as in DynamoDB.
    """
    CREATE TABLE cooldowns (
      key TEXT PRIMARY KEY, until REAL NOT NULL, reason TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE rates (bucket TEXT PRIMARY KEY, arrival REAL NOT NULL) WITHOUT ROWID;
    CREATE INDEX rates_arrival ON rates (arrival);
    CREATE TABLE budgets (
      budget TEXT PRIMARY KEY, used INTEGER NOT NULL, expires REAL NOT NULL
    ) WITHOUT ROWID;
    """,
)


def migrate(db: sqlite3.Connection) -> None:
    """Bring a file up to date; any number of processes may do so at the same moment."""
    if _version(db) == len(MIGRATIONS):
        return
    db.execute("BEGIN IMMEDIATE")
    version = _version(db)  # again: another process may have been first
    if version > len(MIGRATIONS):
        raise StoreUnavailable(f"SQLite: the file has schema {version}, from a newer Kefu")
    for number, step in enumerate(MIGRATIONS[version:], version + 1):
        for statement in step.split(";"):  # executescript would commit in between
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {number}")
    db.execute("COMMIT")


def _version(db: sqlite3.Connection) -> int:
    row: tuple[int] = db.execute("PRAGMA user_version").fetchone()
    return row[0]
