"""Chats in the memory of the test's process, as `KEFU_STORE=memory:` stores them."""

from __future__ import annotations

from collections.abc import Callable

from kefu.sessions.store.model import Retention, SessionId
from kefu.stores.sql.sessions import SqlSessions
from kefu.stores.sqlite.memory import SqliteMemory


class ChatsInMemory(SqlSessions):
    def __init__(self, clock: Callable[[], float], retention: Retention | None = None) -> None:
        self.memory = SqliteMemory(clock)
        super().__init__(self.memory, clock, retention or Retention())
        self._db = self.memory._memory

    @property
    def ids(self) -> list[SessionId]:
        """The chats that have rows, those that have expired, too."""
        return [SessionId(id) for (id,) in self._db.execute("SELECT id FROM sessions")]

    def __del__(self) -> None:
        self._db.close()
