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
    # 2: chats. A turn is a row: the visitor's message, and its answer when there is one.
    """
    CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE sessions (
      id TEXT PRIMARY KEY, title TEXT NOT NULL, config TEXT NOT NULL, created REAL NOT NULL,
      updated REAL NOT NULL, turns INTEGER NOT NULL, tokens INTEGER NOT NULL,
      errors INTEGER NOT NULL, status TEXT NOT NULL, lease REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX sessions_updated ON sessions (updated, id);
    CREATE TABLE turns (
      session TEXT NOT NULL, question_id INTEGER NOT NULL, question TEXT NOT NULL,
      status TEXT NOT NULL, lease REAL NOT NULL, asked REAL NOT NULL, client TEXT,
      answer TEXT NOT NULL, answered REAL NOT NULL, rating TEXT,
      PRIMARY KEY (session, question_id)
    );
    CREATE UNIQUE INDEX turns_client ON turns (session, client) WHERE client IS NOT NULL;
    CREATE TABLE calls (
      session TEXT NOT NULL, message INTEGER NOT NULL, number INTEGER NOT NULL,
      created REAL NOT NULL, record BLOB NOT NULL, PRIMARY KEY (session, message, number)
    ) WITHOUT ROWID;
    CREATE INDEX calls_created ON calls (created);
    CREATE TABLE texts (
      session TEXT NOT NULL, digest TEXT NOT NULL, text BLOB NOT NULL,
      PRIMARY KEY (session, digest)
    ) WITHOUT ROWID;
    CREATE TABLE days (
      date TEXT PRIMARY KEY, turns INTEGER NOT NULL, errors INTEGER NOT NULL,
      prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL
    ) WITHOUT ROWID;
    """,
    # 3: session logs of the terminal chat. `at`: Unix time of the event.
    """
    CREATE TABLE event_lines (
      session TEXT NOT NULL, number INTEGER NOT NULL, line BLOB NOT NULL, at REAL NOT NULL,
      PRIMARY KEY (session, number)
    ) WITHOUT ROWID;
    """,
    # 4: whose a turn is that was begun more than once.
    "ALTER TABLE turns ADD COLUMN again INTEGER NOT NULL DEFAULT 0",
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
