"""A session's log: one file of JSON lines, only ever appended to, by one process at a time.

`kill -9` at any moment leaves whole lines and at most one torn line behind them, which readers
skip; whoever writes next begins a new line. A line that a full disk would tear is taken back.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
from collections.abc import Sequence
from pathlib import Path

from kefu.errors import HistoryBusy, HistoryUnavailable
from kefu.events import Event, Log, SessionId, event_line, read_lines

_SESSION_ID = re.compile(r"sess_[0-9A-HJKMNP-TV-Z]{26}")
_SUFFIX = ".jsonl"


class JsonlHistorySink:
    """`<folder>/<session_id>.jsonl`, for its owner's eyes only; so is a folder it has to make."""

    def __init__(self, folder: Path, session_id: SessionId) -> None:
        """Raises HistoryBusy when another process writes it, HistoryUnavailable when it cannot
        be written.
        """
        self.path = log_path(folder, session_id)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(
                self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise _unavailable(self.path, error) from error
        try:
            self._lock()
            self._size = os.fstat(self._file).st_size
            self._torn = self._ends_torn()
        except BaseException:
            os.close(self._file)
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            said = f"another process writes to {self.path}: end it, or fork the session"
            raise HistoryBusy(said) from error
        except OSError as error:
            raise _unavailable(self.path, error) from error

    def _ends_torn(self) -> bool:
        return self._size > 0 and os.pread(self._file, 1, self._size - 1) != b"\n"

    def append(self, event: Event) -> None:
        if self._file < 0:
            raise HistoryUnavailable(f"{self.path} is closed")
        line = event_line(event)
        if self._torn:
            line = b"\n" + line
        try:
            self._write(line)
        except OSError as error:
            self._take_back()
            raise _unavailable(self.path, error) from error
        self._size += len(line)
        self._torn = False

    def _write(self, line: bytes) -> None:
        """A nearly full disk takes a part, and says so with the rest."""
        while line:
            line = line[os.write(self._file, line) :]

    def _take_back(self) -> None:
        try:
            os.ftruncate(self._file, self._size)
        except OSError:
            # The next line begins behind what stays.
            self._size = os.fstat(self._file).st_size
            self._torn = True

    async def flush(self) -> None:
        """On the disk, not just in the system's memory."""
        try:
            await asyncio.to_thread(os.fsync, self._file)
        except OSError as error:
            raise _unavailable(self.path, error) from error

    def close(self) -> None:
        """Let others write; again: nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _unavailable(path: Path, error: OSError) -> HistoryUnavailable:
    return HistoryUnavailable(f"{path}: {error.strerror or type(error).__name__}")


def log_path(folder: Path, session_id: str) -> Path:
    """Raises HistoryUnavailable for what is no session's name: it might lead elsewhere."""
    return folder / f"{checked_id(session_id)}{_SUFFIX}"


def checked_id(session_id: str) -> str:
    """The same. Raises HistoryUnavailable for what is no session's name."""
    if not _SESSION_ID.fullmatch(session_id):
        raise HistoryUnavailable(f"{session_id[:80]!r} is not the name of a session")
    return session_id


def read_log(folder: Path, session_id: str) -> Log:
    """All that can be read of a session. Raises HistoryUnavailable when there is no such log."""
    path = log_path(folder, session_id)
    try:
        with path.open("rb") as lines:
            return read_lines(lines)
    except OSError as error:
        raise _unavailable(path, error) from error


def logged_sessions(folder: Path) -> Sequence[SessionId]:
    """The sessions there are logs of, the one that was last written to first."""
    found: list[tuple[int, str]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name.removesuffix(_SUFFIX)
                if name != entry.name and _SESSION_ID.fullmatch(name):
                    found.append((entry.stat().st_mtime_ns, name))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unavailable(folder, error) from error
    return [SessionId(name) for _, name in sorted(found, reverse=True)]
