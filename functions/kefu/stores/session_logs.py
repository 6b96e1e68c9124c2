"""Where session logs are: a folder of files, or `sqlite:///FILE`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kefu.errors import HistoryUnavailable
from kefu.events import Event, Log, SessionId
from kefu.stores.jsonl import JsonlHistorySink, log_path, logged_sessions, read_log
from kefu.stores.sqlite_history import SqliteHistorySink, SqliteLogs

_SQLITE = "sqlite:///"


def logs_at(place: str) -> SessionLogs | SqliteLogs:
    file = _database(place)
    return SqliteLogs(file) if file else SessionLogs(Path(place))


def sink_at(place: str, session_id: SessionId) -> JsonlHistorySink | SqliteHistorySink:
    """Raises HistoryUnavailable."""
    file = _database(place)
    if file:
        return SqliteHistorySink(file, session_id)
    return JsonlHistorySink(Path(place), session_id)


def beside(place: str, name: str) -> Path:
    """A file of another kind, in the same folder."""
    file = _database(place)
    return (file.parent if file else Path(place)) / name


def _database(place: str) -> Path | None:
    return Path(place.removeprefix(_SQLITE)) if place.startswith(_SQLITE) else None


class SessionLogs:
    """The logs of one folder.

    Every method raises HistoryUnavailable, whose text is for a person.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ids(self) -> Sequence[SessionId]:
        """The one that was last written to first."""
        return logged_sessions(self._folder)

    def read(self, session_id: SessionId) -> Log:
        return read_log(self._folder, session_id)

    def place(self, session_id: SessionId) -> str:
        """Where its log is, for a person."""
        return str(log_path(self._folder, session_id))

    def keep(self, session_id: SessionId, events: Iterable[Event]) -> str:
        """A new log of these events, and where it is. There must be none of this name."""
        path = log_path(self._folder, session_id)
        if path.exists():
            raise HistoryUnavailable(f"{path} is there already")
        sink = JsonlHistorySink(self._folder, session_id)
        try:
            for event in events:
                sink.append(event)
        finally:
            sink.close()
        return str(path)

    def remove(self, session_id: SessionId) -> None:
        """For good; refused while a process writes to it."""
        path = log_path(self._folder, session_id)
        if not path.exists():
            raise HistoryUnavailable(f"there is no session {session_id}")
        sink = JsonlHistorySink(self._folder, session_id)
        try:
            path.unlink()
        except OSError as error:
            raise HistoryUnavailable(f"{path}: {error.strerror}") from error
        finally:
            sink.close()
