"""Session logs in an SQLite file, which may be the service's own: a row is a line of the log.

One writer a session: rows are numbered, so of two that write at the same time one finds its number
taken, and is refused; no line is lost, and none stands twice.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from kefu.errors import HistoryBusy, HistoryUnavailable, StoreUnavailable
from kefu.events import Event, Log, SessionId, event_line, read_lines
from kefu.stores.jsonl import checked_id
from kefu.stores.migrations import migrate
from kefu.stores.sqlite_file import use_wal

_PATIENCE = 2.0
"""Seconds to wait for another process's lock."""


class SqliteHistorySink:
    """A line is there for all who read once `append` is back; after `flush` it survives a power
    cut, too.
    """

    def __init__(self, path: Path, session_id: SessionId) -> None:
        """Raises HistoryUnavailable when the file cannot be opened."""
        self._path = path
        self._session = checked_id(session_id)
        self._db: sqlite3.Connection | None = _opened(path)
        (self._number,) = self._db.execute(
            "SELECT coalesce(max(number), 0) FROM event_lines WHERE session = ?", (self._session,)
        ).fetchone()

    def append(self, event: Event) -> None:
        if self._db is None:
            raise HistoryUnavailable(f"{self._path} is closed")
        row = (self._session, self._number + 1, event_line(event), event.ts)
        try:
            self._db.execute("INSERT INTO event_lines VALUES (?, ?, ?, ?)", row)
        except sqlite3.IntegrityError as error:
            said = f"another process writes to session {self._session}: end it, or fork the session"
            raise HistoryBusy(said) from error
        except sqlite3.DatabaseError as error:
            raise _unavailable(self._path, error) from error
        self._number += 1

    async def flush(self) -> None:
        """On the disk, not just in the system's memory."""
        await asyncio.to_thread(self._sync)

    def _sync(self) -> None:
        try:
            # In WAL mode what was committed stands in this file until a checkpoint.
            file = os.open(f"{self._path}-wal", os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            os.fsync(file)
        except OSError as error:
            raise HistoryUnavailable(f"{self._path}: {error.strerror}") from error
        finally:
            os.close(file)

    def close(self) -> None:
        """Again: nothing."""
        if self._db is not None:
            self._db.close()
            self._db = None


class SqliteLogs:
    """What `kefu sessions` looks at. Every method raises HistoryUnavailable."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def ids(self) -> Sequence[SessionId]:
        rows = self._rows(
            "SELECT session FROM event_lines GROUP BY session ORDER BY max(at) DESC, session DESC"
        )
        return [SessionId(str(session)) for (session,) in rows]

    def read(self, session_id: SessionId) -> Log:
        rows = self._rows(
            "SELECT line FROM event_lines WHERE session = ? ORDER BY number",
            checked_id(session_id),
        )
        if not rows:
            raise HistoryUnavailable(f"there is no session {session_id}")
        return read_lines(bytes(line) for (line,) in rows)

    def place(self, session_id: SessionId) -> str:
        """Where its log is, for a person."""
        return f"{checked_id(session_id)} in {self._path}"

    def keep(self, session_id: SessionId, events: Iterable[Event]) -> str:
        """All of it or nothing. There must be none of this name."""
        lines = [(event_line(event), event.ts) for event in events]
        rows = [(checked_id(session_id), n, line, at) for n, (line, at) in enumerate(lines, 1)]
        try:
            with closing(_opened(self._path)) as db:
                db.execute("BEGIN IMMEDIATE")
                db.executemany("INSERT INTO event_lines VALUES (?, ?, ?, ?)", rows)
                db.execute("COMMIT")
        except sqlite3.IntegrityError as error:
            raise HistoryUnavailable(f"{session_id} is in {self._path} already") from error
        except sqlite3.DatabaseError as error:
            raise _unavailable(self._path, error) from error
        return self.place(session_id)

    def remove(self, session_id: SessionId) -> None:
        try:
            with closing(_opened(self._path)) as db:
                wanted = (checked_id(session_id),)
                gone = db.execute("DELETE FROM event_lines WHERE session = ?", wanted).rowcount
                # What is deleted is not to stay in the log of the file.
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.DatabaseError as error:
            raise _unavailable(self._path, error) from error
        if not gone:
            raise HistoryUnavailable(f"there is no session {session_id}")

    def _rows(self, question: str, *values: str) -> list[tuple[Any, ...]]:
        if not self._path.exists():
            return []
        try:
            with closing(_opened(self._path)) as db:
                return db.execute(question, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise _unavailable(self._path, error) from error


def _opened(path: Path) -> sqlite3.Connection:
    """For its owner's eyes only, as is a folder that has to be made."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.DatabaseError) as error:
        raise _unavailable(path, error) from error
    try:
        use_wal(db, _PATIENCE)
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA secure_delete = ON")
        migrate(db)
    except (sqlite3.DatabaseError, StoreUnavailable) as error:
        db.close()
        raise _unavailable(path, error) from error
    return db


def _unavailable(path: Path, error: Exception) -> HistoryUnavailable:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return HistoryUnavailable(f"{path}: {reason or type(error).__name__}")
