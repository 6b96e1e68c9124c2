"""Shares cooldowns, limits and chats between all processes of one machine, in one SQLite file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kefu.stores.sql.store import SqlStore
from kefu.stores.sqlite.file import SqliteFile


class SqliteStore(SqlStore):
    """Every method raises StoreUnavailable for a locked, full, unreadable or corrupt file."""

    _file: SqliteFile

    def __init__(
        self, path: Path | str, clock: Callable[[], float], *, busy_timeout: float = 2.0
    ) -> None:
        super().__init__(SqliteFile(path, clock, busy_timeout=busy_timeout), clock)
