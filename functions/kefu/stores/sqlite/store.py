"""Shares cooldowns, limits and chats between all processes of one machine, in one SQLite file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kefu.stores.sql.store import SqlStore
from kefu.stores.sqlite.file import SqliteFile

if TYPE_CHECKING:
    from kefu.sessions.store.model import Retention
    from kefu.stores.sqlite.sessions import SqliteSessions


class SqliteStore(SqlStore):
    """Every method raises StoreUnavailable for a locked, full, unreadable or corrupt file."""

    _file: SqliteFile

    def __init__(
        self, path: Path | str, clock: Callable[[], float], *, busy_timeout: float = 2.0
    ) -> None:
        super().__init__(SqliteFile(path, clock, busy_timeout=busy_timeout), clock)

    def sessions(self, retention: Retention) -> SqliteSessions:
        """Return a session store in the same file. `aclose` of this store closes the file, too."""
        from kefu.stores.sqlite.sessions import SqliteSessions

        return SqliteSessions(self._file, self._clock, retention)
