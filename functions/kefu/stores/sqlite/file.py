"""Shares one SQLite file between all stores in it, without blocking the event loop.

Short calls run on the event loop. In WAL mode with synchronous=NORMAL a call takes about 50
microseconds and does not wait for the disk. A call in a thread would cost several times as much,
and more on a busy loop, because it waits for the interpreter's lock at every statement.

A call that finds a lock held is tried again on the event loop, for about 0.3 s.

Calls that may block run in one worker thread with its own connection: opening the file, waiting
longer for another process's lock, and checkpoints. Long work is split into short transactions, so
that other writers can run between them. Queries of operators have a connection in `reader`.

After a power failure the last changes may be lost, but the file is not corrupted. Deleted data is
overwritten (`secure_delete`).
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from kefu.errors import StoreUnavailable
from kefu.stores.sql.database import writing
from kefu.stores.sqlite.claim import Claim
from kefu.stores.sqlite.connection import (
    LONGEST_LOG,
    PAUSE_SECONDS,
    create_file,
    is_busy,
    set_up,
    size_in_use,
    use_wal,
    wait_for_locks,
)
from kefu.stores.sqlite.migrations import migrate
from kefu.stores.sqlite.reader import Reader
from kefu.stores.sqlite.turn_taking import Turn

T = TypeVar("T")

TIDY_EVERY = 512
"""Calls between two clean-ups, which delete expired rows."""
TIDY_AFTER = 60.0
"""Seconds after which a clean-up is due even with fewer calls."""
LOOK_EVERY = 16
"""Calls between two checks of the size of the write-ahead log."""
TRY_AFTER = 2.0
"""Seconds between two checkpoint attempts while a reader, such as a backup, uses the log."""
READER_WAIT = 50
"""Milliseconds that a checkpoint waits for readers. A checkpoint holds the write lock."""


class SqliteFile:
    """Every method raises StoreUnavailable for a locked, full, unreadable or corrupt file.

    After an error the next call opens the file again, so that the store recovers with the file.
    """

    def __init__(
        self, path: Path | str, clock: Callable[[], float], *, busy_timeout: float
    ) -> None:
        self.path = Path(path)
        self.tidying: list[Callable[[sqlite3.Connection], bool]] = []
        """The clean-up functions of the stores. Clean-ups run in the worker thread, each in a
        transaction. A clean-up deletes some expired rows, and returns True if there are more."""
        self.indexing: Callable[[sqlite3.Connection], bool] | None = None
        """Work that runs in the worker thread, in transactions of its own, when a minute had few
        calls. A function returns True if there is more."""
        self._clock = clock
        self._busy_timeout = busy_timeout
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kefu-sqlite")
        self._turn = Turn()
        self._reader = Reader(self.path, busy_timeout)
        self._db: sqlite3.Connection | None = None
        """The connection of the worker thread, which waits for locks."""
        self._quick: sqlite3.Connection | None = None
        """The connection of the event loop, which never waits for a lock."""
        self._log = Path(f"{path}-wal")
        self._calls = 0
        self._tidied_at = clock()
        self._retry: threading.Timer | None = None
        """Repeats a checkpoint that a reader prevented, even if the store is not called again."""
        self._locking = False
        """Whether a checkpoint needs the write lock: calls on the event loop would fail."""
        self._claim = Claim(self.path, clock)
        self._serves = False
        """Whether this process answers chats. Commands for operators only read chats."""
        self._closing = False
        self._upkeep: Future[None] | None = None
        self._emptying: Future[None] | None = None

    def warm(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Start opening the file in the worker thread. Returns at once, and never raises.

        A process that will answer chats calls this first: `Claim` counts it.
        """
        self._serves = True
        self._thread.submit(self._on_thread, work)

    async def aclose(self) -> None:
        """Close the file after the running call ends. Later calls raise StoreUnavailable."""
        self._closing = True
        self._turn.ask()
        if self._retry is not None:
            self._retry.cancel()
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        except RuntimeError:
            return  # the connection is already closed
        self._close_quick()
        self._claim.release()
        self._thread.shutdown(wait=False)
        self._reader.close()

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on the event loop, or in the worker thread after an error.

        While another connection holds the lock, `work` is called again after `PAUSE_SECONDS`.
        `work` must be short and idempotent, because it is run again after an error.
        """
        for pause in PAUSE_SECONDS:
            if self._quick is None:
                break
            if not self._locking:
                try:
                    result = work(self._quick)
                except sqlite3.DatabaseError as error:
                    if not is_busy(error):
                        self._close_quick()
                        break
                else:
                    self._look_after()
                    return result
            with self._turn.waiting():
                await asyncio.sleep(pause)
        return await self.run_in_thread(work)

    async def run_in_thread(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in the worker thread. Use it for long work in short transactions."""
        self._turn.ask()
        try:
            result = await asyncio.wrap_future(self._submit(work))
        except StoreUnavailable:
            self._close_quick()
            raise
        self._look_after()
        return result

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query of an operator, which may take long and delays no other call."""
        if self._quick is None:  # the worker thread opens and converts the file
            await self.run_in_thread(size_in_use)
        return await self._reader.run(work)

    async def used(self) -> int:
        """Bytes of the pages in use and of the write-ahead log, at least the log's usual length."""
        return await self.run(size_in_use) + max(LONGEST_LOG, self._log_size())

    async def wipe(self) -> None:
        """Remove deleted data from the write-ahead log too, and wait for the checkpoint.

        Concurrent calls share one checkpoint. A checkpoint that a reader blocks is retried later.
        """
        if self._emptying is None or self._emptying.done():
            self._turn.ask()
            self._emptying = self._submit(self._empty_log)
        # `shield`, so that a cancelled caller does not cancel the checkpoint for the others.
        await asyncio.shield(asyncio.wrap_future(self._emptying))

    def _submit(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        try:
            return self._thread.submit(self._on_thread, work)
        except RuntimeError as error:
            raise StoreUnavailable("SQLite: the store is closed") from error

    def _look_after(self) -> None:
        """Start a clean-up or a checkpoint that is due. Errors do not reach the caller."""
        self._calls += 1
        now = self._clock()
        if self._calls % TIDY_EVERY == 0:
            self._begin_upkeep(self._tidy)
        elif abs(now - self._tidied_at) > TIDY_AFTER:
            self._begin_upkeep(self._tidy_and_index)
        elif self._calls % LOOK_EVERY == 0 and self._log_is_long():
            self._begin_upkeep(self._empty_log)

    def _log_is_long(self) -> bool:
        return self._retry is None and self._log_size() > LONGEST_LOG

    def _begin_upkeep(self, work: Callable[[sqlite3.Connection], None]) -> None:
        if not self._closing and (self._upkeep is None or self._upkeep.done()):
            with contextlib.suppress(StoreUnavailable):
                self._upkeep = self._submit(work)

    def _log_size(self) -> int:
        try:
            return self._log.stat().st_size
        except OSError:
            return 0

    def _tidy(self, db: sqlite3.Connection) -> None:
        """Delete some expired rows of every store, and schedule the next part if there are more."""
        began = self._tidied_at = self._clock()
        more = False
        for forget in self.tidying:
            with writing(db):
                more = forget(db) or more
        if not more or self._log_size() > LONGEST_LOG:
            self._empty_log(db)
        if more and not self._closing:
            self._turn.give(self._clock() - began)
            self._upkeep = self._submit(self._tidy)

    def _tidy_and_index(self, db: sqlite3.Connection) -> None:
        self._tidy(db)
        if self.indexing is not None and not self._closing:
            self._upkeep = self._submit(self._index)

    def _index(self, db: sqlite3.Connection) -> None:
        if self.indexing is not None and self.indexing(db) and not self._closing:
            self._upkeep = self._submit(self._index)
        elif self._log_size() > LONGEST_LOG:
            self._empty_log(db)

    def _empty_log(self, db: sqlite3.Connection) -> None:
        """Checkpoint the write-ahead log into the file and truncate it.

        The passive checkpoints do not block writers. The truncating checkpoint holds the write
        lock, but has few pages left to write. A checkpoint fails beside a reader.
        """
        for _ in range(2):  # the second checkpoint writes pages added during the first
            db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        self._locking = True
        try:
            wait_for_locks(db, READER_WAIT)
            busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            wait_for_locks(db, self._busy_timeout * 1000)
        finally:
            self._locking = False
        if busy:
            self._try_again_later()
        else:
            # The first write after a checkpoint waits for the disk, so it is made in this thread.
            db.execute("INSERT OR REPLACE INTO rates VALUES ('tidied', ?)", (self._clock(),))

    def _try_again_later(self) -> None:
        if self._retry is None and not self._closing:
            self._retry = threading.Timer(TRY_AFTER, self._try_again)
            self._retry.daemon = True
            self._retry.start()

    def _try_again(self) -> None:
        self._retry = None
        self._begin_upkeep(self._empty_log)

    def _close_quick(self) -> None:
        if self._quick is not None:
            self._quick.close()
            self._quick = None

    def _on_thread(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._db is None:
                self._db = self._opened()
                if self._serves:  # before the event loop has a connection and can begin a turn
                    self._claim.take(self._db)
                self._begin_upkeep(self._tidy)  # a killed process may have left expired rows
            if self._quick is None:
                self._quick = self._another()
            return work(self._db)
        except (sqlite3.DatabaseError, OSError) as error:
            self._close()
            raise StoreUnavailable(f"SQLite {self.path.name}: {error}") from error
        except StoreUnavailable:
            self._close()
            raise

    def _opened(self) -> sqlite3.Connection:
        create_file(self.path)
        db = sqlite3.connect(self.path, timeout=0, isolation_level=None)
        try:
            use_wal(db, self._busy_timeout)
            wait_for_locks(db, self._busy_timeout * 1000)
            set_up(db)
            migrate(db)
        except BaseException:
            db.close()
            raise
        return db

    def _another(self) -> sqlite3.Connection:
        """Open the second connection, for use on the event loop."""
        quick = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
        set_up(quick)
        return quick

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
