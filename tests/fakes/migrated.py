"""Gives each store in memory a copy of one migrated database.

The migrations from nothing take 15 to 25 ms of processor time, and the tests open thousands of such
stores. Stores in files, and services that are not forked, migrate theirs.
"""

from __future__ import annotations

import sqlite3

from kefu.stores.sqlite import memory
from kefu.stores.sqlite.migrations import PAGE_SIZE, migrate


def copy_migrated() -> sqlite3.Connection:
    """From now on in this process, and in those forked from it. Returns the copied database."""
    migrated = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    migrated.execute(f"PRAGMA page_size = {PAGE_SIZE}")
    migrate(migrated)
    setattr(memory, "migrate", migrated.backup)  # noqa: B010 - mypy lets no function be assigned
    return migrated
