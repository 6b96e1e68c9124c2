"""Stores chats in one SQLite file, whose size is limited."""

from __future__ import annotations

from kefu.stores.sql.sessions import SqlSessions
from kefu.stores.sqlite.file import SqliteFile


class SqliteSessions(SqlSessions):
    """Every method raises StoreUnavailable for a locked, full, unreadable or corrupt file."""

    _file: SqliteFile

    async def used(self) -> int:
        return await self._file.used()
