"""Gives each store in memory, and each SQLite store of the contract tests, a copy of one migrated
database.

The migrations from nothing take 15 to 25 ms of processor time, and the tests open thousands of such
stores. Other stores in files, and services that are not forked, migrate theirs.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from kefu.stores.sqlite import memory
from kefu.stores.sqlite.migrations import PAGE_SIZE, migrate


def copy_migrated() -> sqlite3.Connection:
    """From now on in this process, and in those forked from it. Returns the copied database."""
    migrated = _migrated()
    setattr(memory, "migrate", migrated.backup)  # noqa: B010 - mypy lets no function be assigned
    return migrated


def migrated_file(path: Path) -> Path:
    """A new file with the tables of a store in it."""
    path.write_bytes(_content())
    return path


@cache
def _content() -> bytes:
    with closing(_migrated()) as migrated:
        return migrated.serialize()


def _migrated() -> sqlite3.Connection:
    migrated = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    migrated.execute(f"PRAGMA page_size = {PAGE_SIZE}")
    migrate(migrated)
    return migrated
