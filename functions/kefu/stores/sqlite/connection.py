"""Configures SQLite connections, and provides write transactions."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from pathlib import Path

from kefu.stores.sqlite.migrations import PAGE_SIZE

PAUSE_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.025, 0.025, 0.025, 0.05, 0.05, 0.1)
"""Seconds between the attempts of a call on the event loop while a lock is held, as in SQLite's
busy handler. After these attempts the call goes to the worker thread.

Calls must not go there at once. A thread beside a busy loop is slow, and holds the write lock
meanwhile, so that further calls find it held: under overload all calls would end in the thread.
"""

LONGEST_LOG = 4 << 20
"""The size in bytes above which the write-ahead log is checkpointed and truncated."""

_SET_UP = (
    "PRAGMA synchronous = NORMAL",
    "PRAGMA secure_delete = ON",
    f"PRAGMA journal_size_limit = {LONGEST_LOG}",
    "PRAGMA wal_autocheckpoint = 0",
    # A negative size is in KiB. SQLite's default of 2 MiB is more than these tables need.
    "PRAGMA cache_size = -256",
)


def create_file(path: Path) -> None:
    """An empty file for its owner only; SQLite gives its -wal and -shm the same mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def set_up(db: sqlite3.Connection) -> None:
    for pragma in _SET_UP:
        db.execute(pragma).fetchall()


def size_in_use(db: sqlite3.Connection) -> int:
    """Bytes of the pages that are not free: free pages are used before the file grows."""
    pragmas = ("page_count", "freelist_count", "page_size")
    pages, free, size = (db.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas)
    return int((pages - free) * size)


def wait_for_locks(db: sqlite3.Connection, milliseconds: float) -> None:
    db.execute(f"PRAGMA busy_timeout = {int(milliseconds)}")


def is_busy(error: sqlite3.DatabaseError) -> bool:
    if not isinstance(error, sqlite3.OperationalError):
        return False
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def use_wal(db: sqlite3.Connection, patience: float) -> None:
    """Switch the database to WAL mode, and wait up to `patience` seconds for its lock.

    SQLite does not always apply its busy timeout to this change, so this function retries.
    """
    pause, waited = 0.02, 0.0
    while True:
        try:
            db.execute(f"PRAGMA page_size = {PAGE_SIZE}")  # only affects a new database
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not is_busy(error) or waited >= patience:
                raise
            threading.Event().wait(pause)
            waited += pause
        else:
            return
