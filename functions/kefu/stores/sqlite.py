"""State shared by all processes of one machine, in one SQLite file.

A call is done at once, on the event loop, where it can be: in WAL mode with synchronous=NORMAL it
takes some 50 microseconds and only touches the page cache, while handing it to a thread costs
several times that, and much more on a busy loop (the thread waits for the interpreter's lock at
every statement). What may block goes to one worker thread with a connection of its own: opening,
waiting for another process's lock, and checkpoints, which write to the disk. A power cut may lose
the last cooldowns, never the file.
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
from kefu.keypool import Cooldown, Cooldowns, Fingerprint
from kefu.limits import SLACK, Rate, admit, far_from
from kefu.stores.deadlines import later, reason_of
from kefu.stores.memory import BUDGET_LIFE
from kefu.stores.migrations import migrate

T = TypeVar("T")

SMALL_CACHE = "PRAGMA cache_size = -256"
"""In KiB. SQLite's own 2 MiB a connection are more than these tables."""

TIDY_EVERY = 512
"""Calls between two clean-ups, which keep the file and its -wal small."""


# `admit`, and the check of a budget, as one statement each: atomic by itself.
_TAKE = (
    "INSERT INTO rates (bucket, arrival) VALUES (?1, ?2) ON CONFLICT (bucket) DO UPDATE"
    " SET arrival = iif(arrival BETWEEN ?3 AND ?6, arrival, ?3) + ?4"
    " WHERE arrival <= ?5 OR arrival > ?6"
)
_SETTLE = (
    "INSERT INTO budgets (budget, used, expires) VALUES (?1, ?2, ?3) ON CONFLICT (budget)"
    " DO UPDATE SET used = used + excluded.used, expires = excluded.expires"
)
_RESERVE = f"{_SETTLE} WHERE used + excluded.used <= ?4"


class SqliteStore:
    """Every method raises StoreUnavailable on a locked, full, unreadable or broken file.

    The next call opens the file anew, so that the store is back as soon as the file is.
    """

    def __init__(
        self, path: Path | str, clock: Callable[[], float], *, busy_timeout: float = 2.0
    ) -> None:
        self.path = Path(path)
        self._clock = clock
        self._busy_timeout = busy_timeout
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kefu-sqlite")
        self._db: sqlite3.Connection | None = None
        """The thread's own; it waits for locks."""
        self._quick: sqlite3.Connection | None = None
        """The event loop's; it never waits."""
        self._calls = 0

    def warm(self) -> None:
        """Start opening the file; returns at once, and never fails."""
        self._thread.submit(self._on_thread, _read_cooldowns)

    async def cooldowns(self) -> Cooldowns:
        return await self._run(_read_cooldowns)

    async def cool(self, key: Fingerprint, cooldown: Cooldown) -> Cooldowns:
        now = self._clock()

        def work(db: sqlite3.Connection) -> Cooldowns:
            with _writing(db):
                view = _read_cooldowns(db)
                view[key] = kept = later(view.get(key), cooldown, now)
                db.execute(
                    "INSERT OR REPLACE INTO cooldowns (key, until, reason) VALUES (?, ?, ?)",
                    (key, kept.until, kept.reason.value),
                )
            return view

        return await self._run(work)

    async def take(self, bucket: str, rate: Rate) -> float:
        now = self._clock()
        latest = now + rate.period - rate.interval + SLACK
        far = far_from(rate, now)
        values = (bucket, now + rate.interval, now, rate.interval, latest, far)

        def work(db: sqlite3.Connection) -> float:
            if db.execute(_TAKE, values).rowcount == 1:
                return 0.0
            row = db.execute("SELECT arrival FROM rates WHERE bucket = ?", (bucket,)).fetchone()
            return max(SLACK, admit(row[0] if row else None, rate, now)[1])

        return await self._run(work)

    async def reserve(self, budget: str, amount: int, limit: int) -> bool:
        values = (budget, amount, self._clock() + BUDGET_LIFE, limit)
        return amount <= limit and await self._run(
            lambda db: db.execute(_RESERVE, values).rowcount == 1
        )

    async def settle(self, budget: str, difference: int) -> None:
        values = (budget, difference, self._clock() + BUDGET_LIFE)
        await self._run(lambda db: db.execute(_SETTLE, values).rowcount)

    async def aclose(self) -> None:
        """Close the file; a call that is under way ends first. Later calls find the store gone."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        except RuntimeError:
            return  # closed before
        self._close_quick()
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
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
        if self._calls % TIDY_EVERY == 0:
            self._submit(self._tidy)

    def _tidy(self, db: sqlite3.Connection) -> None:
        """Forget drained buckets and old budgets, and write the -wal back into the file."""
        db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        with _writing(db):
            now = self._clock()
            db.execute("DELETE FROM rates WHERE arrival < ?", (now,))
            db.execute("DELETE FROM budgets WHERE expires < ?", (now,))
            # Whoever writes first after a checkpoint waits for the disk: let it be this thread.
            db.execute("INSERT OR REPLACE INTO rates VALUES ('tidied', ?)", (now,))

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
            _use_wal(db, self._busy_timeout)
            db.execute(f"PRAGMA busy_timeout = {int(self._busy_timeout * 1000)}")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(SMALL_CACHE)
            migrate(db)
        except BaseException:
            db.close()
            raise
        return db

    def _another(self) -> sqlite3.Connection:
        """A connection to the same, open file for use on the event loop."""
        quick = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
        quick.execute("PRAGMA synchronous = NORMAL")
        quick.execute(SMALL_CACHE)
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
def _writing(db: sqlite3.Connection) -> Iterator[None]:
    """Reading and writing as one step: the write lock is taken before the first read."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        db.rollback()
        raise


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _use_wal(db: sqlite3.Connection, patience: float) -> None:
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


def _read_cooldowns(db: sqlite3.Connection) -> dict[Fingerprint, Cooldown]:
    rows = db.execute("SELECT key, until, reason FROM cooldowns").fetchall()
    return {Fingerprint(key): Cooldown(until, reason_of(reason)) for key, until, reason in rows}
