"""Tells whether a server that starts is the only one on its SQLite file.

Each server holds a shared lock on a file beside the database for as long as it runs. The kernel
releases the lock at any end of the process. A server that gets the lock alone knows that no other
process answers chats. Turns that still count as running belong to an ended process.

The lock is not on the database itself: closing a second handle of that file would release SQLite's
own locks.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from kefu.stores.sql.database import free_turns


class Claim:
    """The place of a server among the processes that answer chats from one file."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path = Path(f"{path}-lock")
        self._clock = clock
        self._lock = -1

    def take(self, db: sqlite3.Connection) -> None:
        """Count this process as a server; the only server ends the leases of all turns.

        Does nothing when called again, and on a file system without locks.
        """
        if self._lock >= 0:
            return
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._lock = os.open(self._path, flags, 0o600)
            self._lock_alone_or_shared(db)
        except OSError:
            self.release()  # leases then end by themselves

    def release(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _lock_alone_or_shared(self, db: sqlite3.Connection) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            free_turns(db, self._clock())
        # Another server holds the lock alone for as long as `free_turns` takes.
        fcntl.flock(self._lock, fcntl.LOCK_SH)
