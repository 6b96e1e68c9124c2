"""Keeps a database in the memory of this process, for tests and for trying Kefu out."""

from __future__ import annotations

import asyncio
import sqlite3
import weakref
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from kefu.errors import StoreUnavailable
from kefu.stores.sql.database import writing
from kefu.stores.sql.rows import purge_part
from kefu.stores.sqlite.connection import set_up, size_in_use
from kefu.stores.sqlite.file import TIDY_AFTER, SqliteFile
from kefu.stores.sqlite.migrations import PAGE_SIZE, migrate

T = TypeVar("T")

MOST_CHATS = 10_000
"""The chats that are kept. The least recently used chats are deleted."""

OVERHEAD_FACTOR = 1.4
"""The memory that SQLite takes for a page, as a multiple of its size."""


class SqliteMemory(SqliteFile):
    """One connection on the event loop: calls wait for no disk, no lock and no thread."""

    def __init__(self, clock: Callable[[], float], most: int = MOST_CHATS) -> None:
        super().__init__(":memory:", clock, busy_timeout=0)
        self.tidying.append(partial(_forget_least_used, most=most))
        # The event loop may run in another thread than the one that builds the service.
        self._memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        # `kefu doctor` builds a service only to see whether that succeeds.
        weakref.finalize(self, self._memory.close)
        self._memory.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        set_up(self._memory)
        migrate(self._memory)

    def warm(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Do nothing: the connection is open."""

    async def aclose(self) -> None:
        self._closing = True
        self._memory.close()

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            result = work(self._memory)
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(f"SQLite: {error}") from error
        if abs(self._clock() - self._tidied_at) > TIDY_AFTER:
            self._tidied_at = self._clock()
            asyncio.get_running_loop().call_soon(self._tidy_part)
        return result

    async def run_in_thread(self, work: Callable[[sqlite3.Connection], T]) -> T:
        await asyncio.sleep(0)  # other chats go on between the parts of long work
        return await self.run(work)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self.run(work)

    async def used(self) -> int:
        return round(OVERHEAD_FACTOR * await self.run(size_in_use))

    async def wipe(self) -> None:
        """Do nothing: deleted data is overwritten, and there is no log."""

    def _tidy_part(self) -> None:
        """Delete and index some rows, and go on after other work of the event loop."""
        if self._closing:
            return
        with writing(self._memory):
            more = [forget(self._memory) for forget in self.tidying]
        if self.indexing is not None:
            more.append(self.indexing(self._memory))
        if any(more):
            asyncio.get_running_loop().call_soon(self._tidy_part)


def _forget_least_used(db: sqlite3.Connection, most: int) -> bool:
    newest = "SELECT id, updated FROM sessions ORDER BY updated DESC, id DESC LIMIT 1 OFFSET ?"
    found = db.execute(newest, (most,)).fetchone()
    if found is None:
        return False
    purge_part(db, *found)
    return True
