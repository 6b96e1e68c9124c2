"""The logs of one folder, as the commands look at them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kefu.errors import HistoryUnavailable
from kefu.events import Event, Log, SessionId
from kefu.stores.jsonl import JsonlHistorySink, log_path, logged_sessions, read_log


class SessionLogs:
    """Every method raises HistoryUnavailable, whose text is for a person."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ids(self) -> Sequence[SessionId]:
        """The one that was last written to first."""
        return logged_sessions(self._folder)

    def read(self, session_id: SessionId) -> Log:
        return read_log(self._folder, session_id)

    def path(self, session_id: SessionId) -> Path:
        return log_path(self._folder, session_id)

    def keep(self, session_id: SessionId, events: Iterable[Event]) -> Path:
        """A new log of these events. There must be none of this name."""
        path = self.path(session_id)
        if path.exists():
            raise HistoryUnavailable(f"{path} is there already")
        sink = JsonlHistorySink(self._folder, session_id)
        try:
            for event in events:
                sink.append(event)
        finally:
            sink.close()
        return path

    def remove(self, session_id: SessionId) -> None:
        """For good; refused while a process writes to it."""
        path = self.path(session_id)
        if not path.exists():
            raise HistoryUnavailable(f"there is no session {session_id}")
        sink = JsonlHistorySink(self._folder, session_id)
        try:
            path.unlink()
        except OSError as error:
            raise HistoryUnavailable(f"{path}: {error.strerror}") from error
        finally:
            sink.close()
