"""One SQLite file as every store in it uses it: opened once, asked from the event loop.

A call is done at once, on the event loop, where it can be: in WAL mode with synchronous=NORMAL it
takes some 50 microseconds and only touches the page cache, while handing it to a thread costs
several times that, and much more on a busy loop (the thread waits for the interpreter's lock at
every statement). What may block goes to one worker thread with a connection of its own: opening,
waiting for another process's lock, long work, and checkpoints, which write to the disk. A power cut
may lose the last changes, never the file. What is deleted is overwritten.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from kefu.errors import StoreUnavailable
from kefu.stores.migrations import migrate

T = TypeVar("T")

SMALL_CACHE = "PRAGMA cache_size = -256"
"""In KiB. SQLite's own 2 MiB a connection are more than these tables."""

TIDY_EVERY = 512
"""Calls between two clean-ups, which keep the file and its -wal small."""
TIDY_AFTER = 3600.0
"""Seconds between two clean-ups of a file that is used less."""


class SqliteFile:
    """Every method raises StoreUnavailable on a locked, full, unreadable or broken file.

    The next call opens the file anew, so that the store is back as soon as the file is.
    """

    def __init__(
        self, path: Path | str, clock: Callable[[], float], *, busy_timeout: float
    ) -> None:
        self.path = Path(path)
        self.tidying: list[Callable[[sqlite3.Connection], bool]] = []
        """What each store in the file does now and then, in the thread, in a transaction; True:
        what it removed is to leave the -wal as well."""
        self._clock = clock
        self._busy_timeout = busy_timeout
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kefu-sqlite")
        self._db: sqlite3.Connection | None = None
        """The thread's own; it waits for locks."""
        self._quick: sqlite3.Connection | None = None
        """The event loop's; it never waits."""
        self._calls = 0
        self._tidied_at = clock()

    def warm(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Start opening the file; returns at once, and never fails."""
        self._thread.submit(self._on_thread, work)

    async def aclose(self) -> None:
        """Close the file; a call that is under way ends first. Later calls find the store gone."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        except RuntimeError:
            return  # closed before
        self._close_quick()
        self._thread.shutdown(wait=False)

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """At once if nothing is in the way; `work` is short, and may be done twice."""
        if self._quick is not None:
            try:
                result = work(self._quick)
            except sqlite3.OperationalError as error:
                if not _is_busy(error):
                    self._close_quick()
            except sqlite3.DatabaseError:
                self._close_quick()
            else:
                self._tidy_sometimes()
                return result
        return await self.run_in_thread(work)

    async def run_in_thread(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """For what takes its time."""
        try:
            return await asyncio.wrap_future(self._submit(work))
        except StoreUnavailable:
            self._close_quick()
            raise

    def _submit(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        try:
            return self._thread.submit(self._on_thread, work)
        except RuntimeError as error:
            raise StoreUnavailable("SQLite: the store is closed") from error

    def _tidy_sometimes(self) -> None:
        self._calls += 1
        now = self._clock()
        if self._calls % TIDY_EVERY == 0 or abs(now - self._tidied_at) > TIDY_AFTER:
            self._tidied_at = now
            self._submit(self._tidy)

    def _tidy(self, db: sqlite3.Connection) -> None:
        """Have every store forget what is old, and write the -wal back into the file."""
        db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        with writing(db):
            wipe = [forget(db) for forget in self.tidying]
            self._write_first(db)
        if any(wipe):
            self.wipe(db)

    def wipe(self, db: sqlite3.Connection) -> None:
        """After a deletion: what was deleted is not in the -wal any more, either."""
        busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreUnavailable(f"SQLite {self.path.name}: deleted, but not from the log yet")
        self._write_first(db)

    def _write_first(self, db: sqlite3.Connection) -> None:
        """Whoever writes first after a checkpoint waits for the disk: let it be the thread."""
        db.execute("INSERT OR REPLACE INTO rates VALUES ('tidied', ?)", (self._clock(),))

    def _close_quick(self) -> None:
        if self._quick is not None:
            self._quick.close()
            self._quick = None

    def _on_thread(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._db is None:
                self._db = self._opened()
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
        self._create()
        db = sqlite3.connect(self.path, timeout=0, isolation_level=None)
        try:
            use_wal(db, self._busy_timeout)
            db.execute(f"PRAGMA busy_timeout = {int(self._busy_timeout * 1000)}")
            _set_up(db)
            migrate(db)
        except BaseException:
            db.close()
            raise
        return db

    def _another(self) -> sqlite3.Connection:
        """A connection to the same, open file for use on the event loop."""
        quick = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
        _set_up(quick)
        quick.execute("PRAGMA wal_autocheckpoint = 0")
        return quick

    def _create(self) -> None:
        """An empty file for its owner only; SQLite gives its -wal and -shm the same mode."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


@contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """Reading and writing as one step: the write lock is taken before the first read."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        db.rollback()
        raise


def _set_up(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA secure_delete = ON").fetchall()
    db.execute(SMALL_CACHE)


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def use_wal(db: sqlite3.Connection, patience: float) -> None:
    """Switch to WAL; the wait for other openers is ours, SQLite's does not always happen here."""
    pause, waited = 0.02, 0.0
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or waited >= patience:
                raise
            threading.Event().wait(pause)
            waited += pause
        else:
            return
