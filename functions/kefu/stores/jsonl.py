"""Writes the events of a session as JSON lines: to its log, or to a stream for `--json`.

A log is an append-only file, which one process at a time writes. After `kill -9` at most the
last line is incomplete. Readers skip it, and the next writer starts a new line. If the disk is
full, the incomplete line is truncated.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from kefu.agent.events import AgentSessionId, Log, SessionEvent, event_line, read_lines
from kefu.errors import HistoryBusy, HistoryUnavailable

_SESSION_ID = re.compile(r"sess_[0-9A-HJKMNP-TV-Z]{26}")
_SUFFIX = ".jsonl"
_DATABASE = b"SQLite format 3\0"
"""The first bytes of each SQLite file."""


class JsonlHistorySink:
    """Writes `<folder>/<session_id>.jsonl`.

    The sink creates the file with mode 0600 and the folder with mode 0700, if they are missing.
    """

    def __init__(self, folder: Path, session_id: AgentSessionId) -> None:
        """Open and lock the file.

        Raises HistoryBusy if another process has locked the file, and HistoryUnavailable if the
        file cannot be opened.
        """
        self.path = log_path(folder, session_id)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._file = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise unavailable(self.path, error) from error
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
            message = f"another process writes to {self.path}: end it, or fork the session"
            raise HistoryBusy(message) from error
        except OSError as error:
            raise unavailable(self.path, error) from error

    def _ends_torn(self) -> bool:
        return self._size > 0 and os.pread(self._file, 1, self._size - 1) != b"\n"

    def append(self, event: SessionEvent) -> None:
        if self._file < 0:
            raise HistoryUnavailable(f"{self.path} is closed")
        line = event_line(event)
        if self._torn:
            line = b"\n" + line
        try:
            self._write(line)
        except OSError as error:
            self._truncate()
            raise unavailable(self.path, error) from error
        self._size += len(line)
        self._torn = False

    def _write(self, line: bytes) -> None:
        """Write all bytes. On a nearly full disk the first write may be partial."""
        while line:
            line = line[os.write(self._file, line) :]

    def _truncate(self) -> None:
        try:
            os.ftruncate(self._file, self._size)
        except OSError:
            # The incomplete line stays, so the next `append` writes a line break first.
            self._size = os.fstat(self._file).st_size
            self._torn = True

    async def flush(self) -> None:
        """Sync the file to the disk (fsync). Raises HistoryUnavailable."""
        try:
            await asyncio.to_thread(os.fsync, self._file)
        except OSError as error:
            raise unavailable(self.path, error) from error

    def close(self) -> None:
        """Close the file and release its lock. Idempotent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class StreamSink:
    """Writes each event as one JSON line. It does not close the stream."""

    def __init__(self, stream: BinaryIO, gone: Callable[[], None]) -> None:
        """`gone` is called when the reader has closed the pipe. Later events are discarded."""
        self._stream = stream
        self._gone = gone
        self._broken_pipe = False

    def append(self, event: SessionEvent) -> None:
        if self._broken_pipe:
            return
        try:
            self._stream.write(event_line(event))
            self._stream.flush()
        except BrokenPipeError:
            self._broken_pipe = True
            self._gone()
        except OSError as error:
            raise HistoryUnavailable(
                f"the events could not be written: {error.strerror}"
            ) from error

    async def flush(self) -> None:
        """Do nothing: `append` flushes every line."""


class SessionLogs:
    """The logs in one folder.

    Every method raises HistoryUnavailable with a message that the command line shows.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ids(self) -> Sequence[AgentSessionId]:
        """Return the ids of all sessions, the most recently modified first."""
        logs: list[tuple[int, str]] = []
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    name = entry.name.removesuffix(_SUFFIX)
                    if name != entry.name and _SESSION_ID.fullmatch(name):
                        logs.append((entry.stat().st_mtime_ns, name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise unavailable(self._folder, error) from error
        return [AgentSessionId(name) for _, name in sorted(logs, reverse=True)]

    def read(self, session_id: AgentSessionId) -> Log:
        """Read all complete lines of a session's log."""
        path = log_path(self._folder, session_id)
        try:
            with path.open("rb") as lines:
                return read_lines(lines)
        except OSError as error:
            raise unavailable(path, error) from error

    def place(self, session_id: AgentSessionId) -> str:
        """Return the path of a session's log, for display."""
        return str(log_path(self._folder, session_id))

    def keep(self, session_id: AgentSessionId, events: Iterable[SessionEvent]) -> str:
        """Write a new log with these events and return its path: all of them, or none.

        Raises HistoryUnavailable if the session already has a log.
        """
        path = log_path(self._folder, session_id)
        if path.exists():
            raise HistoryUnavailable(f"{path} already exists")
        part = path.with_suffix(".part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
                file.writelines(map(event_line, events))
                file.flush()
                os.fsync(file.fileno())
            part.rename(path)
        except OSError as error:
            raise unavailable(path, error) from error
        finally:
            with suppress(OSError):
                part.unlink()
        return str(path)

    def remove(self, session_id: AgentSessionId) -> None:
        """Delete a session's log and XML file. Raises HistoryBusy if a process has the log open."""
        path = log_path(self._folder, session_id)
        if not path.exists():
            raise HistoryUnavailable(f"there is no session {session_id}")
        sink = JsonlHistorySink(self._folder, session_id)
        try:
            path.unlink()
            xml_path(self._folder, session_id).unlink(missing_ok=True)
        except OSError as error:
            raise HistoryUnavailable(f"{path}: {error.strerror}") from error
        finally:
            sink.close()


def logs_in(file: Path) -> Sequence[Log]:
    """The log in a file, or the logs that an earlier version stored in an SQLite file.

    Raises HistoryUnavailable.
    """
    try:
        with file.open("rb") as lines:
            if not lines.peek().startswith(_DATABASE):
                return [read_lines(lines)]
    except OSError as error:
        raise unavailable(file, error) from error
    from kefu.stores.sqlite.earlier_logs import logs_in_database  # rarely needed

    return logs_in_database(file)


def unavailable(path: Path, error: OSError) -> HistoryUnavailable:
    """Convert an OSError to a HistoryUnavailable with a readable message."""
    if error.errno == errno.ELOOP:
        return HistoryUnavailable(f"{path}: a symbolic link is not followed")
    if error.errno == errno.EEXIST:  # of `mkdir`
        return HistoryUnavailable(f"{path.parent} is a file: sessions are stored in a folder")
    return HistoryUnavailable(f"{path}: {error.strerror or type(error).__name__}")


def log_path(folder: Path, session_id: str) -> Path:
    """Return the path of a session's log. Raises HistoryUnavailable for an invalid session id."""
    return folder / f"{checked_id(session_id)}{_SUFFIX}"


def xml_path(folder: Path, session_id: str) -> Path:
    """Return the path of a session's XML file. Raises HistoryUnavailable for an invalid id."""
    return folder / f"{checked_id(session_id)}.xml"


def checked_id(session_id: str) -> str:
    """Return the session id unchanged. Raises HistoryUnavailable for an invalid id.

    The check prevents path traversal, because file names are derived from the id.
    """
    if not _SESSION_ID.fullmatch(session_id):
        raise HistoryUnavailable(f"{session_id[:80]!r} is not the name of a session")
    return session_id
