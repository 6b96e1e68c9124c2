"""Runs the queries of operators beside the calls of chats.

Each query has a connection and a thread of its own, so that a long one delays no other call. A read
is interrupted when its time limit has passed.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar

from kefu.errors import StoreUnavailable

T = TypeVar("T")

AT_ONCE: Final = 2
"""Queries that run at the same time. Each may occupy a processor."""

STEPS_PER_CHECK: Final = 20_000
"""Instructions of SQLite's virtual machine between two checks of the time limit: about 2 ms."""


class Reader:
    """Every method raises StoreUnavailable for a locked, unreadable or corrupt file."""

    def __init__(self, path: Path, busy_timeout: float) -> None:
        self._path = path
        # Without `rw`, SQLite would create a file that is missing, for other users, too.
        self._uri = f"{path.absolute().as_uri()}?mode=rw"
        self._busy_timeout = busy_timeout
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="kefu-sqlite-read")

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work`, which only reads, on a new connection. The file must exist.

        When this call is cancelled, SQLite interrupts the statement.
        """
        ended = threading.Event()
        try:
            call = self._threads.submit(self._query, work, ended)
        except RuntimeError as error:
            raise StoreUnavailable("SQLite: the store is closed") from error
        try:
            return await asyncio.wrap_future(call)
        finally:
            ended.set()

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _query(self, work: Callable[[sqlite3.Connection], T], ended: threading.Event) -> T:
        try:
            with closing(sqlite3.connect(self._uri, timeout=self._busy_timeout, uri=True)) as db:
                db.execute("PRAGMA query_only = ON")
                # `interrupt()` is not used: it has no effect between two statements.
                db.set_progress_handler(ended.is_set, STEPS_PER_CHECK)
                return work(db)
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(f"SQLite {self._path.name}: {error}") from error
