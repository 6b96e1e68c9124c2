"""Stores session logs in an SQLite file, which the service may use too. A row is a log line.

Rows are numbered, and the number is part of the primary key. If two processes write to one
session, one of them gets a conflict and HistoryBusy, so no line is lost or written twice.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from kefu.agent.events import AgentSessionId, Log, SessionEvent, event_line, read_lines
from kefu.errors import HistoryBusy, HistoryUnavailable, StoreUnavailable
from kefu.stores.jsonl import checked_id, unavailable, xml_path
from kefu.stores.sqlite.connection import set_up, use_wal
from kefu.stores.sqlite.migrations import migrate

_PATIENCE = 2.0
"""Seconds to wait for another process's lock."""

_ADD = "INSERT INTO event_lines (session, number, line, at) VALUES (?, ?, ?, ?)"


class SqliteHistorySink:
    """Appends events to a session's log.

    After `append` other processes can read the line. After `flush` it survives a power failure.
    """

    def __init__(self, path: Path, session_id: AgentSessionId) -> None:
        """Raises HistoryUnavailable if the file cannot be opened."""
        self._path = path
        self._session = checked_id(session_id)
        self._db: sqlite3.Connection | None = _opened(path)
        (self._number,) = self._db.execute(
            "SELECT coalesce(max(number), 0) FROM event_lines WHERE session = ?", (self._session,)
        ).fetchone()

    def append(self, event: SessionEvent) -> None:
        if self._db is None:
            raise HistoryUnavailable(f"{self._path} is closed")
        row = (self._session, self._number + 1, event_line(event), event.ts)
        try:
            self._db.execute(_ADD, row)
        except sqlite3.IntegrityError as error:
            said = f"another process writes to session {self._session}: end it, or fork the session"
            raise HistoryBusy(said) from error
        except sqlite3.DatabaseError as error:
            raise _unavailable(self._path, error) from error
        self._number += 1

    async def flush(self) -> None:
        """Sync the committed lines to the disk (fsync). Raises HistoryUnavailable."""
        await asyncio.to_thread(self._sync)

    def _sync(self) -> None:
        try:
            # In WAL mode committed rows are in this file until a checkpoint.
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
        """Close the connection. Idempotent."""
        if self._db is not None:
            self._db.close()
            self._db = None


class SqliteLogs:
    """The session logs in a file, for `kefu sessions`. Every method raises HistoryUnavailable."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def ids(self) -> Sequence[AgentSessionId]:
        rows = self._rows(
            "SELECT session FROM event_lines GROUP BY session ORDER BY max(at) DESC, session DESC"
        )
        return [AgentSessionId(str(session)) for (session,) in rows]

    def read(self, session_id: AgentSessionId) -> Log:
        rows = self._rows(
            "SELECT line FROM event_lines WHERE session = ? ORDER BY number",
            checked_id(session_id),
        )
        if not rows:
            raise HistoryUnavailable(f"there is no session {session_id}")
        return read_lines(bytes(line) for (line,) in rows)

    def place(self, session_id: AgentSessionId) -> str:
        """Return the session id and the file that contains its log, for display."""
        return f"{checked_id(session_id)} in {self._path}"

    def keep(self, session_id: AgentSessionId, events: Iterable[SessionEvent]) -> str:
        """Write a new log in one transaction, and return its location for display.

        Raises HistoryUnavailable if the session already has a log.
        """
        lines = [(event_line(event), event.ts) for event in events]
        rows = [(checked_id(session_id), n, line, at) for n, (line, at) in enumerate(lines, 1)]
        try:
            with closing(_opened(self._path)) as db:
                db.execute("BEGIN IMMEDIATE")
                db.executemany(_ADD, rows)
                db.execute("COMMIT")
        except sqlite3.IntegrityError as error:
            raise HistoryUnavailable(f"{session_id} is in {self._path} already") from error
        except sqlite3.DatabaseError as error:
            raise _unavailable(self._path, error) from error
        return self.place(session_id)

    def remove(self, session_id: AgentSessionId) -> None:
        try:
            with closing(_opened(self._path)) as db:
                wanted = (checked_id(session_id),)
                gone = db.execute("DELETE FROM event_lines WHERE session = ?", wanted).rowcount
                # The write-ahead log still contains the deleted lines until it is truncated.
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.DatabaseError as error:
            raise _unavailable(self._path, error) from error
        if not gone:
            raise HistoryUnavailable(f"there is no session {session_id}")
        xml = xml_path(self._path.parent, session_id)
        try:
            xml.unlink(missing_ok=True)
        except OSError as error:
            raise unavailable(xml, error) from error

    def _rows(self, question: str, *values: str) -> list[tuple[Any, ...]]:
        if not self._path.exists():
            return []
        try:
            with closing(_opened(self._path)) as db:
                return db.execute(question, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise _unavailable(self._path, error) from error


def _opened(path: Path) -> sqlite3.Connection:
    """Open the file, and create it (mode 0600) and its folder (0700) if they are missing."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.DatabaseError) as error:
        raise _unavailable(path, error) from error
    try:
        use_wal(db, _PATIENCE)
        set_up(db)
        migrate(db)
    except (sqlite3.DatabaseError, StoreUnavailable) as error:
        db.close()
        raise _unavailable(path, error) from error
    return db


def _unavailable(path: Path, error: Exception) -> HistoryUnavailable:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return HistoryUnavailable(f"{path}: {reason or type(error).__name__}")
