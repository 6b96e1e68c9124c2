"""The tables of the file of learnt pages."""

from __future__ import annotations

import sqlite3

from kefu.knowledge import terms

SCHEMA_VERSION = 3
"""The version of the tables. Before 3, a file had no pages as they were read."""

READABLE = frozenset({2, SCHEMA_VERSION})
"""A file of another version is refused: the pages are quickly learnt again."""

APPLICATION_ID = 0x4B656675
"""`Kefu` in ASCII: the application_id by which SQLite files are recognized."""

TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # `first` is the id of the page's first passage in the index; the others follow it.
    """CREATE TABLE page (first INTEGER PRIMARY KEY, source TEXT NOT NULL, title TEXT NOT NULL,
    language TEXT NOT NULL, passages BLOB NOT NULL)""",
    "CREATE TABLE frequent (term TEXT PRIMARY KEY, passages INTEGER NOT NULL) WITHOUT ROWID",
    # The words of the pages, for questions with a typo. Each is there a second time from its end,
    # behind a space.
    "CREATE TABLE spelling (word TEXT PRIMARY KEY, passages INTEGER NOT NULL) WITHOUT ROWID",
    # For the next run: the pages as they were read, with their frame. Compressed together, because
    # pages share lines.
    "CREATE TABLE whole (pages BLOB NOT NULL)",
    # For each page in several languages, the first address of its group.
    "CREATE TABLE translation (source TEXT PRIMARY KEY, same TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE problem (source TEXT NOT NULL, kind TEXT NOT NULL, reason TEXT NOT NULL)",
)

# Only `kefu learn --meaning` makes this table; other files are not changed by it. A row
# has the vectors of all passages of a page, in order.
MEANING = "CREATE TABLE meaning (first INTEGER PRIMARY KEY, vectors BLOB NOT NULL)"

# The terms are joined with spaces, and the tokenizer `ascii` splits only there: a term consists of
# letters, digits and characters beyond ASCII. `detail=full` is the default and must stay: with
# `column` or `none`, bm25() of a contentless table ranks wrongly, and there is no error. The body
# is first, because FTS5 stores no number for the first column: two bytes less for each term.
INDEX = (
    """CREATE VIRTUAL TABLE term USING fts5
    (body, heading, title, content='', tokenize='ascii', detail='full')""",
    "INSERT INTO term (term, rank) VALUES ('rank', 'bm25(1.0, 2.0, 4.0)')",
    # Words with accents, spelt without them. In a table of their own, because BM25 counts the terms
    # of a passage.
    """CREATE VIRTUAL TABLE unmarked USING fts5
    (body, heading, title, content='', tokenize='ascii', detail='full')""",
    "INSERT INTO unmarked (unmarked, rank) VALUES ('rank', 'bm25(1.0, 2.0, 4.0)')",
)


class CannotRead(OSError):
    """The file is missing, is no file of learnt pages, or has another version."""


def create(db: sqlite3.Connection) -> None:
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    for statement in (*TABLES, *INDEX):
        db.execute(statement)
    db.execute("INSERT INTO meta VALUES ('terms', ?)", (str(terms.VERSION),))


def has_table(db: sqlite3.Connection, name: str) -> bool:
    sql = "SELECT 1 FROM sqlite_master WHERE name = ?"
    return db.execute(sql, (name,)).fetchone() is not None


def meaning_of(db: sqlite3.Connection) -> str:
    """The model whose numbers the file has; empty for none."""
    row = db.execute("SELECT value FROM meta WHERE name = 'meaning'").fetchone()
    return str(row[0]) if row else ""


def check(db: sqlite3.Connection, name: str) -> None:
    """Check the version of the file. Raises CannotRead with the reason and the remedy."""
    again = f"Please run `kefu learn` again to make {name}."
    try:
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise CannotRead(f"{name} is not a file of learnt pages. {again}")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        meta = dict[str, str](db.execute("SELECT name, value FROM meta"))
        made_of, languages = meta.get("terms"), meta.get("languages", "").split()
        is_same = made_of == "1" and terms.CHANGED.isdisjoint(languages)
        if version not in READABLE or not (is_same or made_of == str(terms.VERSION)):
            raise CannotRead(f"{name} was made by another version of Kefu. {again}")
        db.execute("SELECT rowid FROM term WHERE term MATCH 'x' LIMIT 1").fetchall()
    except sqlite3.OperationalError as error:
        if "fts5" in str(error):
            raise CannotRead("This Python's SQLite has no FTS5, which finding needs.") from None
        raise CannotRead(f"{name} cannot be read: {error}. {again}") from None
    except sqlite3.DatabaseError as error:
        raise CannotRead(f"{name} cannot be read: {error}. {again}") from None
